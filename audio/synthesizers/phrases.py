"""A text cut into phrases that a voice speaks one at a time: sentences, with a short first one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from audio.synthesizers.pieces import SENTENCE_END, Piece

LONG_CHARACTERS = 40
"""A first sentence over this is cut at a comma, as encoding takes time with its length."""
SHORT_CHARACTERS = 8
"""Less than this is not spoken alone: "No," by itself sounds like the end."""
_CLAUSE_END = re.compile(r"[,;:–—]['\"”’)\]]*\s+")


def phrases(text: str, first: bool, longest: int = sys.maxsize) -> Iterator[Piece]:
    """Cut `text` into sentences.

    first: nothing was spoken before it, so that its first phrase is short. longest: sentences of more
    characters are cut at commas, if they have some.
    """
    begin = 0
    for end in _sentence_ends(text):
        if first and end - begin > LONG_CHARACTERS and (cut := _clauses(text[begin:end])):
            yield Piece(text[begin : begin + cut], begin)
            begin += cut
        while end - begin > longest and (cut := _clauses(text[begin:end], longest)):
            yield Piece(text[begin : begin + cut], begin)
            begin += cut
        if text[begin:end].strip():
            yield Piece(text[begin:end], begin)
            first = False
        begin = end


def _sentence_ends(text: str) -> list[int]:
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return ends if ends and ends[-1] == len(text) else [*ends, len(text)]


def _clauses(sentence: str, longest: int = 0) -> int:
    """Return the length of the first clauses that can be spoken alone, 0 for none: as many as `longest`
    characters have room for, but at least one.
    """
    ends = [
        match.end()
        for match in _CLAUSE_END.finditer(sentence)
        if match.start() >= SHORT_CHARACTERS and len(sentence) - match.end() >= SHORT_CHARACTERS
    ]
    return max((end for end in ends if end <= longest), default=ends[0] if ends else 0)
