"""The tokens that close a sentence or a message, by which a model tells that a speaker may have finished.

The end mark alone is a poor measure, as models put a full stop before it. After the words of a finished
sentence they expect a full stop, a question mark, a new line or the mark, each of these in several tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

Decode = Callable[[str], str]
"""Returns the text of a token as it stands in the vocabulary."""

_CLOSES_SENTENCE = re.compile(r"""[ ]?["'”’»)\]*]{0,2}[.?!。？！]{1,2}["'”’»)\]*]{0,2}\s*""")
_NEW_LINE = re.compile(r"[ ]*\n\s*")
# "Ċ" is a new line, and "ã" and "ï" begin the bytes of "。", "？" and "！" in byte-level vocabularies
_MAY_CLOSE = re.compile("[.?!。？！\nĊãï]")
MAX_CLOSING_TOKENS = 128
"""Bound of those that an engine is asked about: vLLM's for one request (MAX_LOGPROB_TOKEN_IDS). The shortest
come first; the rest have hardly any share."""


def closing_tokens(
    vocabulary: Mapping[str, int], decode: Decode, end_marks: Iterable[int]
) -> tuple[int, ...]:
    """Return the ids of the tokens that close a sentence or a message, the end marks first.

    end_marks: ids of special tokens that end a message.
    """
    marks = list(dict.fromkeys(end_marks))
    texts = {number: decode(token) for token, number in vocabulary.items() if _MAY_CLOSE.search(token)}
    found = [(len(text), number) for number, text in texts.items() if closes(text) and number not in marks]
    return tuple(marks + [number for _, number in sorted(found)])[:MAX_CLOSING_TOKENS]


def closes(text: str) -> bool:
    """Return True if a token with this text ends a sentence, and begins no other word."""
    return bool(_CLOSES_SENTENCE.fullmatch(text) or _NEW_LINE.fullmatch(text))


def summed(log_probabilities: Iterable[float]) -> float | None:
    """Return the logarithm of the sum of probabilities, at most 0; None if there are none."""
    values = [value for value in log_probabilities if value > -math.inf]
    if not values:
        return None
    most = max(values)
    return min(0.0, most + math.log(sum(math.exp(value - most) for value in values)))
