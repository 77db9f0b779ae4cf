"""The tokens that close a sentence or a message, by which a model tells that a speaker may have finished.

The end mark alone is a poor measure: models put a full stop before it. What they expect after the words of a
finished sentence is a full stop, a question mark, a new line or the mark, each in several tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CLOSES_SENTENCE = re.compile(r"""[ ]?["'”’»)\]*]{0,2}[.?!。？！]{1,2}["'”’»)\]*]{0,2}\s*""")
_NEW_LINE = re.compile(r"[ ]*\n\s*")
MAX_CLOSING_TOKENS = 128
"""Bound of those that an engine is asked about. The shortest come first; the rest have hardly any share."""


def closing_tokens(decoded: Iterable[tuple[int, str]], end_marks: Iterable[int]) -> tuple[int, ...]:
    """Return the ids of the tokens that close a sentence or a message, the end marks first.

    decoded: ids and texts of the vocabulary. end_marks: ids of special tokens that end a message or a text.
    """
    marks = list(dict.fromkeys(end_marks))
    found = [(len(text), number) for number, text in decoded if closes(text) and number not in marks]
    return tuple(marks + [number for _, number in sorted(found)])[:MAX_CLOSING_TOKENS]


def closes(text: str) -> bool:
    """Return True if a token with this text ends a sentence, and begins no other word."""
    return bool(_CLOSES_SENTENCE.fullmatch(text) or _NEW_LINE.fullmatch(text))
