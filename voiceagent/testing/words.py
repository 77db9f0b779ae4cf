"""Comparison of expected words with what was said, as a listener would compare them."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.words import words_of
from voiceagent.text_normalization import normalize

CLEAR_WORDS = 4
"""A recognizer may change, omit or insert one word in this many."""


def says(said: str, words: str, language: str, heard: bool) -> bool:
    """Return True if `words` are said anywhere in `said`; case, punctuation, "2" or "two" make no
    difference.

    Args:
        said: What was said.
        words: The expected words.
        language: ISO 639 code for reading figures.
        heard: `said` comes from a recognizer, which may be wrong in every fourth word.
    """
    wanted, there = _spoken(words, language), _spoken(said, language)
    return _errors(wanted, there) <= (len(wanted) // CLEAR_WORDS if heard else 0)


def _spoken(text: str, language: str) -> tuple[str, ...]:
    return words_of(normalize(text, language)[0])


def _errors(wanted: Sequence[str], there: Sequence[str]) -> int:
    """Return the edit distance in words between `wanted` and the closest part of `there` (Sellers 1980)."""
    above = [0] * (len(there) + 1)  # a match may begin anywhere
    for row, word in enumerate(wanted, start=1):
        left = row
        line = [row]
        for at, other in enumerate(there):
            left = min(above[at] + (word != other), above[at + 1] + 1, left + 1)
            line.append(left)
        above = line
    return min(above)  # and end anywhere
