"""Parser of spoken digits in a transcript: "four two, double one" is "4211"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words

MAX_SPOKEN = 99
"""Largest number spoken as one group of a longer one: "forty two, seventeen"."""
_ALSO: Mapping[str, Mapping[str, str]] = {"en": {"oh": "0", "o": "0"}, "de": {"zwo": "2"}}
"""Words for digits in addition to the numbers' own."""
_REPEATED: Mapping[str, Mapping[str, int]] = {"en": {"double": 2, "triple": 3}}
"""Words that repeat the following digit."""
_WORD = re.compile(r"\d+|[^\W\d_]+")
_LONG = 4
"""Digits of a number within which callers interrupt, to write it down."""


def digits_of(text: str, language: str) -> str:
    """Return all digits in `text`, in order, "" for none. language: an ISO 639 code.

    Numbers up to `MAX_SPOKEN` count as their figures; other words are skipped.
    """
    return "".join(_figures(_WORD.findall(text.lower()), language))


def trailing_digits(words: Sequence[str], language: str) -> str:
    """Return the digits at the end of lower-case words, "" if the last is none.

    For the rest see `digits_of`.
    """
    figures = reversed(list(_figures(words, language)))
    return "".join(reversed(list(takewhile(bool, figures))))


def places_of_digits(written: str, words: str, language: str) -> list[tuple[int, int]]:
    """Return where each digit after the first begins in a long number that is read digit by digit, as pairs
    (index in `words`, index in `written`). Empty for other numbers.
    """
    places = [index for index, character in enumerate(written) if character.isdecimal()]
    if len(places) < _LONG:
        return []
    spoken = _spoken(language)
    said = [(word.start(), spoken.get((word[0].lower(),), "")) for word in _WORD.finditer(words)]
    digits = [(at, digit) for at, digit in said if digit]
    if [digit for _, digit in digits] != [written[index] for index in places]:
        return []
    return [(at, index) for (at, _), index in zip(digits, places, strict=True)][1:]


def number_at(words: Sequence[str], index: int, language: str) -> tuple[str, int]:
    """Return the figures of the number that begins at a lower-case word, and its word count; else ("", 1)."""
    spoken = _spoken(language)
    return _number_at(words, index, max((len(number) for number in spoken), default=1), spoken)


@cache
def hundreds(language: str) -> Mapping[str, str]:
    """Return the figures of the hundreds that are one word, by that word: "achthundert", "ochocientos"."""
    words = {in_words(number, find_language(language)): str(number) for number in range(100, 1_000, 100)}
    return {word: figures for word, figures in words.items() if word is not None and " " not in word}


def _figures(words: Sequence[str], language: str) -> Iterator[str]:
    """Yield the figures of each number; "" for a word that is neither a number nor a repetition."""
    spoken, repeated = _spoken(language), _REPEATED.get(language, {})
    longest = max((len(words) for words in spoken), default=1)
    times, index = 1, 0
    while index < len(words):
        found, used = _number_at(words, index, longest, spoken)
        if found:
            yield found[0] * (times - 1) + found
            times = 1
        else:
            times = repeated.get(words[index], 1)
            if times == 1:
                yield ""
        index += used


def _number_at(
    words: Sequence[str], index: int, longest: int, spoken: Mapping[tuple[str, ...], str]
) -> tuple[str, int]:
    """Return the figures that begin at `index` and how many words they take; the longest reading wins."""
    if words[index].isdecimal():
        return words[index], 1
    for used in range(min(longest, len(words) - index), 0, -1):
        figures = spoken.get(tuple(words[index : index + used]))
        if figures is not None:
            return figures, used
    return "", 1


@cache
def _spoken(language: str) -> Mapping[tuple[str, ...], str]:
    """Return the figures of each number by its words."""
    spoken: dict[tuple[str, ...], str] = {}
    for number in range(MAX_SPOKEN + 1):
        words = in_words(number, find_language(language))
        if words is not None:
            spoken[tuple(_WORD.findall(words.lower()))] = str(number)
    return spoken | {(word,): digit for word, digit in _ALSO.get(language, {}).items()}
