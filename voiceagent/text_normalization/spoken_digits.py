"""The digits of a number that somebody says or a recognizer writes: "four two, double one" is "4211"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words

MAX_SPOKEN = 99
"""The largest number that is said as one group of a longer one: "forty two, seventeen"."""
_ALSO: Mapping[str, Mapping[str, str]] = {"en": {"oh": "0", "o": "0"}, "de": {"zwo": "2"}}
"""Words for digits beside the numbers' own."""
_REPEATED: Mapping[str, Mapping[str, int]] = {"en": {"double": 2, "triple": 3}}
"""Words that repeat the digit behind them."""
_WORD = re.compile(r"\d+|[^\W\d_]+")


def digits_of(text: str, language: str) -> str:
    """All digits in `text`, in order, "" where there is none. language: an ISO 639 code.

    Numbers up to `MAX_SPOKEN` count as the figures that write them; a word that is no number is passed over.
    """
    return "".join(_figures(_WORD.findall(text.lower()), language))


def trailing_digits(words: Sequence[str], language: str) -> str:
    """The digits that lower-case words end with, "" where the last is none; otherwise as `digits_of`."""
    figures = reversed(list(_figures(words, language)))
    return "".join(reversed(list(takewhile(bool, figures))))


def _figures(words: Sequence[str], language: str) -> Iterator[str]:
    """The figures of one number after the other; "" for a word that is none and repeats none."""
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
    """The figures that begin at `index`, and how many words they are: the longest reading counts."""
    if words[index].isdecimal():
        return words[index], 1
    for used in range(min(longest, len(words) - index), 0, -1):
        figures = spoken.get(tuple(words[index : index + used]))
        if figures is not None:
            return figures, used
    return "", 1


@cache
def _spoken(language: str) -> Mapping[tuple[str, ...], str]:
    """The words of each number, and its figures."""
    spoken: dict[tuple[str, ...], str] = {}
    for number in range(MAX_SPOKEN + 1):
        words = in_words(number, find_language(language))
        if words is not None:
            spoken[tuple(_WORD.findall(words.lower()))] = str(number)
    return spoken | {(word,): digit for word, digit in _ALSO.get(language, {}).items()}
