"""Names that callers are likely to say, anywhere in a sentence.

Each token of a name counts as soon as it is found, so that a search does not lose the name before its end. If
the rest does not follow, the score of its first tokens is withdrawn, like failure arcs in a graph of phrases
(Zhao et al., "Shallow-Fusion End-to-End Contextual Biasing", 2019).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

NUMBER_TOKENS = 1.0
"""If a number is expected, each number word counts as this many tokens of a name, whatever its length."""


class Names:
    """A set of names.

    Args:
        names: tokens of each, and the number of tokens it counts as.
        inside: tokens that continue a word; no name begins with one or is followed by one.
        numbers: tokens of number words, which also count as names.
        most: maximum number words that count in a text.
    """

    def __init__(
        self,
        names: Mapping[tuple[int, ...], float],
        inside: frozenset[int],
        numbers: Collection[tuple[int, ...]] = (),
        most: float = math.inf,
    ) -> None:
        self._numbers = frozenset(numbers)
        self._most = most * NUMBER_TOKENS
        self._names = {**names, **dict.fromkeys(self._numbers, NUMBER_TOKENS)}
        self._beginnings: dict[tuple[int, ...], float] = {}
        for name, counts in self._names.items():
            for length in range(1, len(name) + 1):
                so_far = counts * length / len(name)
                self._beginnings[name[:length]] = max(so_far, self._beginnings.get(name[:length], 0.0))
        self._inside = inside

    def and_numbers(self, numbers: Collection[tuple[int, ...]], most: float) -> Names:
        """Return these names plus number words. most: maximum number words that count in a text."""
        return Names(self._names, self._inside, numbers, most)

    def and_words(self, words: Mapping[tuple[int, ...], float]) -> Names:
        """Return these names plus others, which do not replace them."""
        return Names({**words, **self._names}, self._inside, self._numbers, self._most / NUMBER_TOKENS)

    def tokens_in(self, text: Sequence[int]) -> float:
        """Return how many tokens of a text belong to names.

        Counts whole names, the longer of two with the same beginning, and a partial one at the end of the
        text.
        """
        count = of_numbers = 0.0
        at = 0
        while at < len(text):
            length, counts = (0, 0.0) if text[at] in self._inside else self._found(text, at)
            if tuple(text[at : at + length]) in self._numbers:
                of_numbers += counts
            else:
                count += counts
            at += max(1, length)
        return count + min(of_numbers, self._most)

    def _found(self, text: Sequence[int], at: int) -> tuple[int, float]:
        """Return how many tokens the name there has, and how many it counts as; (0, 0.0) without one."""
        whole = 0, 0.0
        for end in range(at + 1, len(text) + 1):
            name = tuple(text[at:end])
            if name not in self._beginnings:
                break
            if end == len(text):
                return end - at, self._beginnings[name]
            if name in self._names and text[end] not in self._inside:
                whole = end - at, self._names[name]
        return whole
