"""Silence where the caller's sound is late. Pure: time is an argument.

The end of a turn is found in seconds of sound, so a line that sends nothing (a phone that leaves silence out,
a network that stands still) would never end one. Sound that comes after all is taken, so that no word is
lost; the silence that stood in for it is taken back from the next gap. Where it was the server that stood
still, what came in the meantime is let in first: a pause of the server's is none of the caller's.
"""

from __future__ import annotations

import math

LATE_S = 0.1
"""Without sound for so long, and it is late: longer than the jitter of a working line."""
OVERSLEPT_S = 0.05
"""Looked so much later than was asked for: the server stood still."""


class SilenceFiller:
    """Counts the sound of one call against the clock, monotonic seconds."""

    def __init__(self) -> None:
        self._began_s: float | None = None
        self._last_s = 0.0
        self._taken_s = 0.0
        self._look_s = math.inf

    def took(self, seconds: float, now_s: float) -> None:
        """The caller's sound arrived."""
        if self._began_s is None:
            self._began_s = now_s - seconds
        self._last_s = now_s
        self._taken_s += seconds

    def missing_s(self, now_s: float) -> float:
        """Seconds of silence to put in now, which count as taken; 0 before the first sound."""
        if now_s > self._look_s + OVERSLEPT_S:
            self._last_s = now_s
        if self._began_s is None or now_s - self._last_s < LATE_S:
            return 0.0
        missing_s = max(0.0, now_s - self._began_s - self._taken_s)
        self._taken_s += missing_s
        return missing_s

    def next_s(self, now_s: float) -> float:
        """When to look again; a later look tells that the server stood still."""
        late_at_s = self._last_s + LATE_S
        self._look_s = late_at_s if self._began_s is not None and late_at_s > now_s else now_s + LATE_S
        return self._look_s
