"""Word errors of transcripts: normalization and alignment.

Numbers are compared digit by digit, so that "1234", "one two three four" and "twelve thirty four" are equal;
contractions are expanded; hesitations and transcription marks do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


def _words(text: str) -> list[str]:
    return text.split()


_UNITS = {
    word: number
    for number, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_HESITATIONS = frozenset(_words("uh um uhm er erm ah hm hmm mm mhm mmm huh"))
_SIGNS = {"%": " percent ", "×": " times ", "=": " equals ", "&": " and ", "$": " dollar ", "+": " plus "}
_SPELLINGS = (
    (re.compile(r"<(?:hes|cutoff)-[^>]*>|<[^>]*>|\[[^\]]*\]"), " "),  # marks of transcribers
    (re.compile(r"(?<=\d)[,](?=\d{3}\b)"), ""),
    (re.compile(r"(?<![\w)])[-−](?=\d)"), " minus "),  # not the hyphens of telephone numbers
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\b(it|that|what|there|here|he|she|let)'s\b"), r"\1 is"),
    (re.compile(r"\by'?know\b"), "you know"),
    (re.compile(r"\bgonna\b"), "going to"),
    (re.compile(r"\bwanna\b"), "want to"),
    (re.compile(r"\balright\b"), "all right"),
    (re.compile(r"\bmister\b"), "mr"),
    (re.compile(r"\bok\b"), "okay"),
    (re.compile(r"\b(hundred|thousand|million) and\b"), r"\1"),
)


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Number of reference words, and of substitutions, deletions and insertions."""

    errors: int
    words: int

    @property
    def rate(self) -> float:
        """Errors per word; 0 without words."""
        return self.errors / self.words if self.words else 0.0

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(self.errors + other.errors, self.words + other.words)


def word_errors(spoken: str, recognized: str, language: str = "en") -> WordErrors:
    """Count the differences between a transcript and the reference, as jiwer does, in normalized words."""
    wanted, got = comparable(spoken, language), comparable(recognized, language)
    wanted, got = _compounds(wanted, got), _compounds(got, wanted)
    return WordErrors(edit_distance(wanted, got), len(wanted))


def comparable(text: str, language: str = "en") -> list[str]:
    """Return the normalized words of a text. Other languages than English: without case and punctuation."""
    text = text.lower().replace("’", "'")
    if language != "en":
        return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text)
    for pattern, plain in _SPELLINGS:
        text = pattern.sub(plain, text)
    for sign, name in _SIGNS.items():
        text = text.replace(sign, name)
    words = re.findall(r"[a-z']+|\d+", text)
    return list(_figures([word.strip("'") for word in words if word not in _HESITATIONS and word.strip("'")]))


def edit_distance(wanted: Sequence[str], got: Sequence[str]) -> int:
    """Return the minimum number of substitutions, deletions and insertions (Levenshtein)."""
    row = list(range(len(got) + 1))
    for done, word in enumerate(wanted, start=1):
        above, row = row, [done]
        for column, other in enumerate(got, start=1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (word != other)))
    return row[-1]


def _figures(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, with each number as its digits."""
    at = 0
    while at < len(words):
        number, at = _number(words, at)
        if number is None:
            after_figure = at > 0 and (words[at - 1] in _UNITS or words[at - 1].isdigit())
            yield "0" if words[at] in ("oh", "o") and after_figure else words[at]
            at += 1
        else:
            yield from number


def _number(words: Sequence[str], at: int) -> tuple[str | None, int]:
    """Return the digits of the number that begins at `at`, and its end; None without one."""
    if words[at].isdigit():
        return words[at], at + 1
    total, group, begin = 0, 0, at
    room = 0  # a word below this continues the number, others begin a new one
    while at < len(words):
        word = words[at]
        value = _UNITS.get(word, _TENS.get(word))
        if value is not None and (at == begin or 0 < value < room):
            group += value
            room = 10 if word in _TENS else 0
        elif word in _SCALES and at > begin and group:
            scale = _SCALES[word]
            total, group = (total, group * 100) if scale == 100 else (total + group * scale, 0)
            room = scale
        else:
            break
        at += 1
    return (None, begin) if at == begin else (str(total + group), at)


def _compounds(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Join two adjacent words if the others have them as one ("fire fox" and "firefox")."""
    known, joined = set(others), []
    at = 0
    while at < len(words):
        pair = "".join(words[at : at + 2])
        two = at + 1 < len(words) and pair in known and not pair.isdigit()
        joined.append(pair if two else words[at])
        at += 2 if two else 1
    return joined
