"""A text cut into pieces that an engine speaks one at a time, so that other texts get their turn between;
and where words begin, in a text and in the phonemes it became.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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


def text_word_starts(text: str) -> list[int]:
    """The index of the first letter or digit of every word; signs alone are none."""
    return [match.start(1) for match in re.finditer(r"(?<!\S)[^\s\w]*(\w)", text)]


def phoneme_word_starts(phonemes: Sequence[str]) -> list[int]:
    """The index of the first phoneme of every word: words stand between blanks, signs alone are none."""
    starts: list[int] = []
    begin = 0
    for index, phoneme in enumerate([*phonemes, " "]):
        if phoneme == " ":
            if any(map(str.isalpha, phonemes[begin:index])):
                starts.append(begin)
            begin = index + 1
    return starts
