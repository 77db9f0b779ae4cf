"""Likelihood of letters that follow each other in names: decides between letters that sound alike.

An n-gram model of the letters of frequent names, interpolated with shorter contexts (Witten and Bell, "The
Zero-Frequency Problem", 1991) and with all letters alike, so that a rare name loses little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

_CONTEXT = 4
"""Letters before one that count."""
_ANY = 0.15
"""Share of all letters alike."""
_LETTERS = 26
_BEGIN = "^"
END = "$"


class LetterPrior:
    """Model of names' letters. names: lower case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for name in names:
            letters = _BEGIN + name + END
            for at in range(1, len(letters)):
                for begin in range(max(0, at - _CONTEXT), at + 1):
                    self._counts[letters[begin:at]][letters[at]] += 1
        self.gain = lru_cache(4096)(self._gain)

    def _gain(self, before: str, letter: str) -> float:
        """Return the logarithm of a letter's probability, in proportion to that of any letter.

        before: the letters of the same name before it. letter: `END` for the end of the name.
        """
        context = (_BEGIN + before)[-_CONTEXT:]
        probability = 1 / _LETTERS
        for length in range(len(context) + 1):
            followed = self._counts.get(context[len(context) - length :])
            if not followed:
                break
            total, kinds = sum(followed.values()), len(followed)
            probability = (followed.get(letter, 0) + kinds * probability) / (total + kinds)
        return math.log(_LETTERS * ((1 - _ANY) * probability + _ANY / _LETTERS))
