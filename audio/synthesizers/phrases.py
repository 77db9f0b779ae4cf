"""A text cut into phrases that a voice speaks one at a time: sentences, with a short first one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audio.synthesizers.pieces import SENTENCE_END, Piece

LONG_CHARACTERS = 40
"""A first sentence over this is cut at a comma, as encoding takes time with its length."""
SHORT_CHARACTERS = 8
"""Less than this is not spoken alone: "No," by itself sounds like the end."""
_CLAUSE_END = re.compile(r"[,;:–—]['\"”’)\]]*\s+")


def phrases(text: str, first: bool) -> Iterator[Piece]:
    """Cut `text` into sentences. first: nothing was spoken before it, so that its first phrase is short."""
    begin = 0
    for end in _sentence_ends(text):
        if first and end - begin > LONG_CHARACTERS and (cut := _first_clause(text[begin:end])):
            yield Piece(text[begin : begin + cut], begin)
            begin += cut
        if text[begin:end].strip():
            yield Piece(text[begin:end], begin)
            first = False
        begin = end


def _sentence_ends(text: str) -> list[int]:
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    return ends if ends and ends[-1] == len(text) else [*ends, len(text)]


def _first_clause(sentence: str) -> int:
    """Return the length of the first clause that can be spoken alone, 0 for none."""
    for match in _CLAUSE_END.finditer(sentence):
        if match.start() >= SHORT_CHARACTERS and len(sentence) - match.end() >= SHORT_CHARACTERS:
            return match.end()
    return 0
