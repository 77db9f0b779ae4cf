"""Names that callers are likely to say, wherever they stand in a sentence. Pure.

Each token of a name counts as soon as it is heard, so that a search does not lose the name before its end.
Where something else follows than its rest, what its first tokens counted is taken back, as failure arcs of a
graph of phrases do (Zhao et al., "Shallow-Fusion End-to-End Contextual Biasing", 2019).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

NUMBER_TOKENS = 1.0
"""Where a number is expected, each of its words counts as this many tokens of a name, however many it has."""


class Names:
    """names: the tokens of each, and how many tokens it counts as. inside: tokens that go on with a word: no
    name begins with one, and none follows it. numbers: the tokens of words of numbers, which then count as
    names too. most: how many of those count in a text.
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
        """These, and words of numbers. most: how many of those count in a text."""
        return Names(self._names, self._inside, numbers, most)

    def tokens_in(self, text: Sequence[int]) -> float:
        """How many tokens of a text, or of its beginning, are those of names: of whole ones, the longer of
        two that begin alike, and of one that the text may end in the middle of."""
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
        """The tokens of the name that begins there, and how many it counts as; 0 without one."""
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
