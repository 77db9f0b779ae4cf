"""Admission control: decides if another call can be served in time."""

from __future__ import annotations

import math
from dataclasses import dataclass

MEMORY_S = 10.0
"""Time constant of the mean number of busy slots. A call's turns come in bursts."""
CALL_MEMORY_S = 60.0
"""Time constant of the mean cost of a call. The shorter mean misses calls that all started at once."""
MARGIN = 0.9
"""Share of both limits up to which calls are admitted. Means hide that turns sometimes coincide."""
MIN_CALLS = 2
"""Calls needed to estimate the cost of the next one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason to refuse a call, and the time after which a retry makes sense."""

    reason: str
    retry_after_s: float


class AdmissionControl:
    """Admits calls by predicted time to first token and by the engine's utilization.

    max_running: slots, the requests that the engine computes at once. max_utilization: largest mean share of
    busy slots, 0 to 1; above about 0.8 waiting times grow without bound (M/M/c queues). max_ttft_s: longest
    predicted time to first token. Times are seconds of one clock.
    """

    def __init__(self, max_running: int, max_utilization: float, max_ttft_s: float) -> None:
        self._max_running = max_running
        self._max_utilization = max_utilization
        self._max_ttft_s = max_ttft_s
        self._busy = 0.0
        self._recent_busy = self._recent_calls = 0.0
        self._at_s: float | None = None

    def observe(self, now_s: float, requests: int, calls: int) -> None:
        """Record a sample. requests: running and waiting. calls: open now."""
        if self._at_s is not None:
            passed_s = now_s - self._at_s
            self._busy = _decayed_mean(self._busy, requests, passed_s, MEMORY_S)
            self._recent_busy = _decayed_mean(self._recent_busy, requests, passed_s, CALL_MEMORY_S)
            self._recent_calls = _decayed_mean(self._recent_calls, calls, passed_s, CALL_MEMORY_S)
        self._at_s = now_s

    def decide(self, calls: int, predicted_ttft_s: float) -> Refusal | None:
        """Return a refusal for a new call while `calls` others are open, or None to admit it. The only call
        is always admitted.
        """
        if calls == 0:
            return None  # only calls can correct a wrong prediction
        limit_s = MARGIN * self._max_ttft_s
        if predicted_ttft_s > limit_s:
            predicted = f"the time to first token would be {predicted_ttft_s:.2f} s"
            reason = f"{predicted}; allowed: at most {limit_s:.2f} s"
            return Refusal(f"busy: {reason}", max(1.0, math.ceil(predicted_ttft_s)))
        if (calls + 1) * self._slots_per_call(calls) > MARGIN * self._max_utilization * self._max_running:
            reason = f"{calls} calls use {self._busy:.1f} of {self._max_running} slots of the LLM"
            return Refusal(f"busy: {reason}", MEMORY_S)
        return None

    def _slots_per_call(self, calls: int) -> float:
        """Return the slots one call uses: the larger of the current and the recent mean."""
        now = self._busy / calls if calls >= MIN_CALLS else 0.0
        recent = self._recent_busy / self._recent_calls if self._recent_calls >= MIN_CALLS else 0.0
        return max(now, recent)


def _decayed_mean(mean: float, newest: float, passed_s: float, memory_s: float) -> float:
    # weighted by time, not by samples: samples are late while the event loop is busy
    weight = math.exp(-passed_s / memory_s)
    return weight * mean + (1 - weight) * newest
