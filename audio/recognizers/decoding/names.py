"""Names that callers are likely to say, wherever they stand in a sentence. Pure.

Each token of a name counts as soon as it is heard, so that a search does not lose the name before its end.
Where something else follows than its rest, what its first tokens counted is taken back, as failure arcs of a
graph of phrases do (Zhao et al., "Shallow-Fusion End-to-End Contextual Biasing", 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Names:
    """names: the tokens of each. inside: tokens that go on with a word: no name begins with one, and none
    follows it.
    """

    def __init__(self, names: Iterable[Sequence[int]], inside: frozenset[int]) -> None:
        self._names = {tuple(name) for name in names}
        self._beginnings = {name[:length] for name in self._names for length in range(1, len(name) + 1)}
        self._inside = inside

    def tokens_in(self, text: Sequence[int]) -> int:
        """How many tokens of a text, or of its beginning, are those of names: of whole ones, the longer of
        two that begin alike, and of one that the text may end in the middle of."""
        count = at = 0
        while at < len(text):
            length = 0 if text[at] in self._inside else self._length(text, at)
            count += length
            at += max(1, length)
        return count

    def _length(self, text: Sequence[int], at: int) -> int:
        """Of the name that begins there, in tokens; 0 without one."""
        whole = 0
        for end in range(at + 1, len(text) + 1):
            name = tuple(text[at:end])
            if name not in self._beginnings:
                break
            if end == len(text):
                return end - at
            if name in self._names and text[end] not in self._inside:
                whole = end - at
        return whole
