"""Parser of numbers in words, for the languages of num2words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from num2words import num2words  # type: ignore[import-untyped]  # ships no types

_CARDINALS = (*range(100), *range(100, 1000, 100), *range(1000, 10_000, 1000))
_ORDINALS = range(1, 32)
"""Days of a month."""


def read_number(words: Sequence[str], language: str) -> tuple[int, int] | None:
    """Return the number at the start of `words` (lower case) and how many words it takes, or None.

    "two hundred and five nights" gives (205, 4), "twenty first" (21, 2).
    """
    found = _longest(words, language)
    if found is None:
        return None
    value, taken = found
    step = 1000 if value >= 1000 else 100 if value >= 100 else 0
    joins = taken < len(words) - 1 and words[taken] == "and"
    rest = read_number(words[taken + joins :], language) if step else None
    if rest is not None and rest[0] < step:
        return value + rest[0], taken + joins + rest[1]
    return found


def _longest(words: Sequence[str], language: str) -> tuple[int, int] | None:
    table, openings = _table(language)
    if not words or words[0] not in openings:
        return None
    for taken in range(min(3, len(words)), 0, -1):
        value = table.get(" ".join(words[:taken]))
        if value is not None:
            return value, taken
    return None


@lru_cache(maxsize=8)
def _table(language: str) -> tuple[dict[str, int], frozenset[str]]:
    """Return number words with their values, and their first words; empty for unsupported languages."""
    table: dict[str, int] = {}
    try:
        for kind, values in (("cardinal", _CARDINALS), ("ordinal", _ORDINALS)):
            for value in values:
                words = num2words(value, lang=language, to=kind)
                table.setdefault(words.lower().replace("-", " "), value)
    except (NotImplementedError, KeyError, ValueError, TypeError):  # some languages have no ordinals
        pass
    return table, frozenset(words.split()[0] for words in table)
