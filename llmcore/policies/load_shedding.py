"""Load shedding: what the server gives up, level by level, while the LLM misses its latency budget."""

from __future__ import annotations

import math
from collections import deque
from enum import IntEnum

UP_S, DOWN_S = 1.0, 10.0
"""Time for which a prediction must miss the budget, or keep it amply, before the level rises or falls."""
MARGIN = 0.6
"""Share of the budget below which it is kept with a margin. In between the level stays, so that a load at the
edge does not make it oscillate.
"""
TOKEN_BUDGET_S = 0.05
"""Mean time between two tokens above which an LLM is overloaded: the ten tokens of a first spoken fragment
then take half a second.
"""
RECENT_S = 10.0
"""Age up to which a response counts in that mean."""


class SheddingLevel(IntEnum):
    """A degradation level; each includes the previous ones."""

    NONE = 0
    SHORT_FRAGMENTS = 1
    """Send the first words of a response to the synthesizer sooner, in a shorter fragment."""
    NO_PREEMPTIVE = 2
    """Do not generate preemptive responses, as they may be dropped."""
    SMALL_MODEL = 3
    """Prefer the small model, if there is one."""
    FILLER_AT_ONCE = 4
    """Play the filler immediately if a response has no audio yet."""
    REFUSE_CALLS = 5
    """Refuse new calls."""


class LoadShedder:
    """Controller of the level: raises it while predictions miss the budget, lowers it more slowly."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._direction = 0
        self.level = SheddingLevel.NONE

    def observe(self, now_s: float, pressure: float) -> bool:
        """Record the pressure. Return True if the shedding level changed.

        pressure: largest used share of any budget; 1 is all of it.
        """
        direction = 1 if pressure > 1 else -1 if pressure < MARGIN else 0
        if direction != self._direction or self._since_s is None:
            self._direction, self._since_s = direction, now_s
        patience_s = UP_S if direction > 0 else DOWN_S
        # one level at a time: each needs time to take effect
        target = min(max(self.level + direction, SheddingLevel.NONE), SheddingLevel.REFUSE_CALLS)
        if target == self.level or now_s - self._since_s < patience_s:
            return False
        self.level, self._since_s = SheddingLevel(target), now_s
        return True


class TokenTimes:
    """Mean times between two tokens of recent responses. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque()
        self.fastest_s = math.inf
        """Shortest time of any response: load shedding cannot get below it."""

    def observe(self, now_s: float, token_s: float) -> None:
        """Record a response's mean time between two tokens."""
        self._recent.append((now_s, token_s))
        self.fastest_s = min(self.fastest_s, token_s)

    def mean_s(self, now_s: float) -> float:
        """Return the mean over recent responses; 0 if there are none."""
        while self._recent and self._recent[0][0] < now_s - RECENT_S:
            self._recent.popleft()
        return sum(token_s for _, token_s in self._recent) / len(self._recent) if self._recent else 0.0
