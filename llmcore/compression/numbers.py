"""Numbers in a text, in digits or words, and the nouns that they count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from num2words import num2words  # type: ignore[import-untyped]  # ships no types

STEM_CHARACTERS = 4
"""Length of the stem of a counted noun: "2-night" counts the nights of "two nights"."""
HOUR_DIGITS = 4
"""Largest number of digits of a possible hour, leading zeros included."""
LONGEST = 8
"""Largest number of words of one number."""

_CARDINALS = (*range(100), *range(100, 1000, 100), *range(1000, 10_000, 1000))
_ORDINALS = range(1, 32)
"""Days of a month."""

_WORD = re.compile(r"[^\W_]+(?:[.:,/'’][^\W_]+)*")
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15}
_CLOCK = re.compile(r"\b(half past|quarter past|quarter to) $", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december) $",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"-?(?: ?of)? ?([^\W\d_]{3,})")
_NOT_COUNTED = frozenset({
    "and", "are", "but", "for", "the", "from", "have", "past", "please", "that", "then", "this", "till",
    "until", "what", "when", "will", "with", "would", "you", "your",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class NumberRun:
    """Adjacent numbers, as in "ten thirty" or "five five five". start, end: position in the text.

    parts: digits of each. counted: stem of the noun after it, or its month; "" for none.
    """

    start: int
    end: int
    parts: tuple[str, ...]
    counted: str

    @property
    def key(self) -> str:
        """All digits: 1030 for "10:30", "ten thirty" and "half past ten"."""
        return "".join(self.parts)


def number_runs(text: str, language: str) -> Iterator[NumberRun]:
    """Yield the numbers of a text in order."""
    tokens = [(match.start(), match.end(), match.group().lower()) for match in _WORD.finditer(text)]
    words = [word for _, _, word in tokens]
    parts: list[str] = []
    start = end = index = 0
    while index < len(tokens):
        begins = tokens[index][0]
        number, taken = _number_at(words, index, language)
        if parts and words[index] == "oh":
            number = "0"
        if parts and (number is None or text[end:begins].strip(" -")):
            yield _run(text, start, end, parts)
            parts = []
        if number is not None:
            start = start if parts else begins
            parts.append(number)
            end = tokens[index + taken - 1][1]
        index += taken
    if parts:
        yield _run(text, start, end, parts)


def _number_at(words: list[str], index: int, language: str) -> tuple[str | None, int]:
    """Return the digits of the number at `index`, or None, and the words it takes."""
    word = words[index]
    if not word.isalpha() and any(character.isdecimal() for character in word):
        digits = re.sub(r"[.,:/]", "", word)
        plain = re.fullmatch(r"(\d+)(?:st|nd|rd|th|s|am|pm)?", digits)
        return (plain.group(1) if plain else digits), 1
    found = read_number(words[index : index + LONGEST], language)
    return (str(found[0]), found[1]) if found else (None, 1)


def _run(text: str, start: int, end: int, parts: list[str]) -> NumberRun:
    clock = _CLOCK.search(text[max(start - 16, 0) : start])
    if clock is not None and parts[0].isdecimal() and len(parts[0]) <= HOUR_DIGITS:
        minutes = 60 * int(parts[0]) + _MINUTES[clock.group(1).lower()]
        start -= len(clock.group())
        parts = [f"{minutes // 60}{minutes % 60:02}"]
    return NumberRun(start, end, tuple(parts), _counted(text, start, end))


def _counted(text: str, start: int, end: int) -> str:
    found = _MONTH.search(text[max(start - 16, 0) : start]) or _COUNTED.match(text, end)
    counted = found.group(1).lower() if found else ""
    return "" if counted in _NOT_COUNTED else counted[:STEM_CHARACTERS]


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
