"""Whether one more call can be served in time. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

MEMORY_S = 10.0
"""How far back the mean number of busy places looks; a call's turns come in bursts."""
MARGIN = 0.9
"""Part of both limits up to which calls are taken: those that have just begun do not show in the mean yet."""
FEWEST_CALLS = 2
"""One call tells too little of what the next would cost."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no call is taken, and after how many seconds another try makes sense."""

    reason: str
    retry_after_s: float


class Admission:
    """Decides on new calls by the time that their first words would take and by how busy the engine is.

    places: requests that the engine computes at once. most_busy: part of them that may be taken in the mean,
    0 to 1; beyond about 0.8 waiting times grow without bound (M/M/c queues). limit_s: longest predicted time
    to first token. Times are seconds of one clock.
    """

    def __init__(self, places: int, most_busy: float, limit_s: float) -> None:
        self._places = places
        self._most_busy = most_busy
        self._limit_s = limit_s
        self._busy = 0.0
        self._at_s: float | None = None

    def busy(self, now_s: float, requests: int) -> None:
        """A sample: so many requests are computed, or wait for it."""
        if self._at_s is not None:
            faded = math.exp(-(now_s - self._at_s) / MEMORY_S)
            self._busy = faded * self._busy + (1 - faded) * requests
        self._at_s = now_s

    def decide(self, calls: int, predicted_ttft_s: float) -> Refusal | None:
        """Whether to refuse a call beside `calls` others; the only one is never refused."""
        if calls == 0:
            return None  # a prediction that is wrong can only be corrected by calls
        if predicted_ttft_s > MARGIN * self._limit_s:
            reason = f"an answer would take {predicted_ttft_s:.2f} s to begin, at most {self._limit_s:.2f} s"
            return Refusal(f"busy: {reason} is promised", max(1.0, math.ceil(predicted_ttft_s)))
        with_it = self._busy * (calls + 1) / calls if calls >= FEWEST_CALLS else 0.0
        if with_it > MARGIN * self._most_busy * self._places:
            reason = f"{calls} calls keep {self._busy:.1f} of {self._places} places of the LLM busy"
            return Refusal(f"busy: {reason}", MEMORY_S)
        return None
