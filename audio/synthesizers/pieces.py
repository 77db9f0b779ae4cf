"""A text cut into pieces that an engine speaks one at a time, so that other texts get their turn between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SENTENCE_END = re.compile(r"[.!?…]['\"”’)\]]*\s+|\n+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text. character: index in the text of its first character."""

    text: str
    character: int


def pieces(text: str, longest: int) -> Iterator[Piece]:
    """`text` in pieces of at most `longest` characters, whole where it fits.

    Each is as long as can be and ends with a sentence, or with a word where no sentence ends within it, or
    in the middle of a word longer than `longest`.
    """
    begin = 0
    while len(text) - begin > longest:
        window = text[begin : begin + longest]
        ends = [match.end() for match in _SENTENCE_END.finditer(window)]
        cut = ends[-1] if ends else window.rfind(" ") + 1 or longest
        yield Piece(window[:cut], begin)
        begin += cut
    if text[begin:].strip():
        yield Piece(text[begin:], begin)
