"""What callers are likely to say, as probabilities of tokens: an ear for a trade's own words. Pure.

An n-gram model of example phrases, interpolated with absolute discounting (Ney, Essen and Kneser, 1994). A
recognizer adds its logarithms to its own (shallow fusion; Gulcehre et al., 2015).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

_ORDER = 4
_DISCOUNT = 0.75
_FLOOR = 1e-4
"""Where the phrases say nothing all tokens are alike: speech about other things is heard as before."""
_JOINING_FLOOR = 0.2
"""Of what may follow anything: whoever pauses behind "and" has more to say, and no phrase is to hide that."""


class PhraseBias:
    """Counts the tokens of `phrases`, each without its begin and end marks, of a vocabulary of `size`.

    joining: tokens that may follow anything, such as "and", or the end mark where people pause.
    """

    def __init__(
        self,
        phrases: Iterable[Sequence[int]],
        begin: int,
        end: int,
        size: int,
        joining: frozenset[int] = frozenset(),
    ) -> None:
        self._begin = begin
        self._joining = joining
        self._even = 1 / size
        self._following: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        grams: Counter[tuple[int, ...]] = Counter()
        for phrase in phrases:
            tokens = [begin] * (_ORDER - 1) + list(phrase) + [end]
            grams.update(zip(*(tokens[at:] for at in range(_ORDER)), strict=False))
        for gram, count in grams.items():  # each once, however often it is said
            for length in range(_ORDER):
                self._following[gram[_ORDER - 1 - length : -1]][gram[-1]] += count
        self._totals = {context: following.total() for context, following in self._following.items()}

    def logarithms(self, before: Sequence[int], candidates: Sequence[int]) -> list[float]:
        """How likely each of the candidates is after the tokens `before`, begin mark included; natural
        logarithms."""
        context = ([self._begin] * (_ORDER - 1) + list(before))[-(_ORDER - 1) :]
        known = []
        for length in range(_ORDER):
            key = tuple(context[len(context) - length :])
            if key not in self._totals:
                break
            known.append((self._following[key], self._totals[key]))
        floors = (_JOINING_FLOOR if token in self._joining else _FLOOR for token in candidates)
        return [
            math.log(max(floor, self._probability(known, token)))
            for token, floor in zip(candidates, floors, strict=True)
        ]

    def _probability(self, known: list[tuple[Counter[int], int]], token: int) -> float:
        """`known`: what follows ever longer contexts, and how often."""
        probability = self._even
        for following, total in known:
            seen = max(0.0, following[token] - _DISCOUNT)
            probability = (seen + _DISCOUNT * len(following) * probability) / total
        return probability
