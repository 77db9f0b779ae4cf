"""Load shedding: what is given up, one level after the other, while the LLM cannot keep its budget. Pure."""

from __future__ import annotations

from enum import IntEnum

UP_S, DOWN_S = 1.0, 10.0
"""How long a prediction must miss the budget, or keep it with a margin, for a level up or down."""
MARGIN = 0.6
"""A prediction below this part of the budget keeps it with a margin. Between the two the level stays, so that
a load at the edge does not make it swing.
"""


class SheddingLevel(IntEnum):
    """What is given up; each level includes those before it."""

    NONE = 0
    SHORT_FRAGMENTS = 1
    """The first words of a response are sent to the synthesizer sooner, in a shorter piece."""
    NO_PREEMPTIVE = 2
    """No responses are made before the turn is surely over, as they may have to be dropped."""
    SMALL_MODEL = 3
    """The small model answers what it can, where there is one."""
    FILLER_AT_ONCE = 4
    """The filler is heard at once where a response has no sound yet."""
    REFUSE_CALLS = 5
    """New calls are refused."""


class LoadShedder:
    """Goes up while predictions miss the budget, and down, more slowly, when they keep it with a margin."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._direction = 0
        self.level = SheddingLevel.NONE

    def observe(self, now_s: float, predicted_s: float, budget_s: float) -> bool:
        """Take in a prediction of the time to first token; whether the level has changed."""
        direction = 1 if predicted_s > budget_s else -1 if predicted_s < MARGIN * budget_s else 0
        if direction != self._direction or self._since_s is None:
            self._direction, self._since_s = direction, now_s
        patience_s = UP_S if direction > 0 else DOWN_S
        # by one level at a time: each needs its time to show
        target = min(max(self.level + direction, SheddingLevel.NONE), SheddingLevel.REFUSE_CALLS)
        if target == self.level or now_s - self._since_s < patience_s:
            return False
        self.level, self._since_s = SheddingLevel(target), now_s
        return True
