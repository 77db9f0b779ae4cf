"""Whether one more call can be served in time. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

MEMORY_S = 10.0
"""How far back the mean number of busy slots looks; a call's turns come in bursts."""
CALL_MEMORY_S = 60.0
"""How far back the mean cost of a call looks: many that begin at once do not show in the shorter mean yet."""
MARGIN = 0.9
"""Calls are taken up to this part of both limits: means hide that turns come together at times."""
MIN_CALLS = 2
"""A single call says too little about what the next one would cost."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no call is taken, and after how many seconds another try makes sense."""

    reason: str
    retry_after_s: float


class AdmissionControl:
    """Decides on new calls by the time that their first words would take and by how busy the engine is.

    max_running: requests that the engine computes at once, its slots. max_utilization: part of them that may
    be taken in the mean, 0 to 1; beyond about 0.8 waiting times grow without bound (M/M/c queues).
    max_ttft_s: longest predicted time to first token. Times are seconds of one clock.
    """

    def __init__(self, max_running: int, max_utilization: float, max_ttft_s: float) -> None:
        self._max_running = max_running
        self._max_utilization = max_utilization
        self._max_ttft_s = max_ttft_s
        self._busy = 0.0
        self._long_busy = self._long_calls = 0.0
        self._at_s: float | None = None

    def observe(self, now_s: float, requests: int, calls: int) -> None:
        """A sample: this many requests are computed or wait for it, while there are this many calls."""
        if self._at_s is not None:
            passed_s = now_s - self._at_s
            self._busy = _faded(self._busy, requests, passed_s, MEMORY_S)
            self._long_busy = _faded(self._long_busy, requests, passed_s, CALL_MEMORY_S)
            self._long_calls = _faded(self._long_calls, calls, passed_s, CALL_MEMORY_S)
        self._at_s = now_s

    def decide(self, calls: int, predicted_ttft_s: float) -> Refusal | None:
        """Why a call beside `calls` others is refused; None where it is not. The only one never is."""
        if calls == 0:
            return None  # a prediction that is wrong can only be corrected by calls
        if predicted_ttft_s > MARGIN * self._max_ttft_s:
            reason = (
                f"an answer would take {predicted_ttft_s:.2f} s to begin, at most {self._max_ttft_s:.2f} s"
            )
            return Refusal(f"busy: {reason} is promised", max(1.0, math.ceil(predicted_ttft_s)))
        if (calls + 1) * self._a_call(calls) > MARGIN * self._max_utilization * self._max_running:
            reason = f"{calls} calls keep {self._busy:.1f} of {self._max_running} slots of the LLM busy"
            return Refusal(f"busy: {reason}", MEMORY_S)
        return None

    def _a_call(self, calls: int) -> float:
        """The slots that a call keeps busy: now, or of late if that is more."""
        now = self._busy / calls if calls >= MIN_CALLS else 0.0
        of_late = self._long_busy / self._long_calls if self._long_calls >= MIN_CALLS else 0.0
        return max(now, of_late)


def _faded(mean: float, newest: float, passed_s: float, memory_s: float) -> float:
    # by the time that passed, and not by samples: these come late where the loop is busy
    faded = math.exp(-passed_s / memory_s)
    return faded * mean + (1 - faded) * newest
