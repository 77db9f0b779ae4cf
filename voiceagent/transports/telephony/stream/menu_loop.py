"""Detection of phone menus that loop, for a model that navigates them by keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum, auto

MAX_REPEATS = 2
"""Times that the same keys may answer the same announcement: menus do not always hear keys."""
MAX_REFUSALS = 3
"""Refusals in a row, after which the call is not worth its cost."""
MAX_SENT = 30
"""Key sequences in one call, whatever the menu says."""
SAME_RATIO = 0.82
"""Similarity (`SequenceMatcher.ratio`) from which two transcripts are of the same announcement: a recognizer
hears an announcement a little differently each time, which leaves 0.9 and more. Menus of the same form with
other words have up to 0.8.
"""
MAX_COMPARED = 300
"""Characters of an announcement that are compared."""


class KeyDecision(Enum):
    """The decision about keys that the model wants to send. HANG_UP: end the call."""

    SEND = auto()
    REFUSE = auto()
    HANG_UP = auto()


@dataclass(slots=True)
class MenuLoop:
    """The keys sent in one call, with the announcements that they answered."""

    _sent: list[tuple[str, str]] = field(default_factory=list)
    _refusals: int = 0

    def decide(self, announcement: str, keys: str) -> KeyDecision:
        """Decide about keys. announcement: transcript of what was said last at the other end."""
        words = " ".join(re.findall(r"\w+", announcement.lower()))[:MAX_COMPARED]
        repeats = sum(keys == sent and _are_same(words, heard) for heard, sent in self._sent)
        if len(self._sent) >= MAX_SENT:
            return KeyDecision.HANG_UP
        if repeats >= MAX_REPEATS:
            self._refusals += 1
            return KeyDecision.HANG_UP if self._refusals > MAX_REFUSALS else KeyDecision.REFUSE
        self._refusals = 0
        self._sent.append((words, keys))
        return KeyDecision.SEND


def _are_same(one: str, other: str) -> bool:
    """Return True if these are words of the same announcement."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= SAME_RATIO
