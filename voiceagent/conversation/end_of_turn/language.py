"""Language models of the end of a turn: a small model of its sentences, and its word lists.

Two maximum-entropy models (Berger, Della Pietra and Della Pietra, 1996): whether a sentence can end after its
words, from the n-grams at their end, its first word with its last, and every word with its distance from the
end; and whether a sentence asks or answers, or only tells. Features are hashed into tables of 8-bit weights
(Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009), so that a language is a few
files, and a decision costs some 50 us.
"""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

LANGUAGES = Path(__file__).parent / "languages"
MAX_WORDS = 12
"""Number of last words from which the end of a sentence is predicted."""
_DISTANCES = (0, 1, 2, 3, 3, 5, 5, 5, 8, 8, 8, 8)
"""Distance class of each word from the end: far away, exact distance matters less."""


@dataclass(frozen=True, slots=True)
class HashedWeights:
    """A maximum-entropy model with one binary outcome.

    weights: 8-bit, one a byte, their number a power of two. scale: nats per unit. bias: in nats.
    """

    weights: bytes
    scale: float
    bias: float

    def logit(self, features: Iterable[str]) -> float:
        """Return the log-odds, in nats."""
        mask = len(self.weights) - 1
        units = 0
        for feature in features:
            unit = self.weights[zlib.crc32(feature.encode()) & mask]
            units += unit - 256 if unit > 127 else unit
        return self.bias + self.scale * units


@dataclass(frozen=True, slots=True)
class OpenWords:
    """Word lists of a language; `languages/en.toml` explains each.

    dictated: words of a question, or of a sentence with one of `requests` and none of `subjects` before it,
    whose answer is dictated, except for a number, one of `numbers`, of something `short`. lengths: by such a
    word, the possible digits of the answer. lettered: words of a question whose answer has letters. spelled:
    of one whose answer is letters. counted: of one whose answer is a number said at once. misheard_digits:
    words that recognizers return for digits. dialled: words of a sentence whose digits are a number to call.
    closings: phrases that end dictation. moments: phrases that ask for a moment, with `courtesies` around
    them; a phrase after one that begins with one of `meanwhile` says what for. question_marks: marks of a
    question whose words alone could be a statement. open_questions: phrases of a question or request that a
    "yes" does not answer, unless one of `inversions` comes before, and except for `proposals` and for a
    sentence that ends with one of `tags`.
    acknowledgements: phrases that accept a question and do not answer it. remarks: others that only take
    note of a statement.
    """

    digits: frozenset[str]
    misheard_digits: frozenset[str]
    conditions: frozenset[str]
    main_clauses: frozenset[str]
    question_marks: frozenset[str]
    inversions: frozenset[str]
    offers: frozenset[str]
    dictated: frozenset[str]
    numbers: frozenset[str]
    short: frozenset[str]
    lettered: frozenset[str]
    spelled: frozenset[str]
    counted: frozenset[str]
    requests: frozenset[str]
    subjects: frozenset[str]
    dialled: frozenset[str]
    courtesies: frozenset[str]
    closings: frozenset[tuple[str, ...]]
    moments: frozenset[tuple[str, ...]]
    meanwhile: frozenset[tuple[str, ...]]
    tags: frozenset[str]
    open_questions: frozenset[tuple[str, ...]]
    proposals: frozenset[tuple[str, ...]]
    acknowledgements: frozenset[tuple[str, ...]]
    remarks: frozenset[tuple[str, ...]]
    lengths: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TurnEndLanguage:
    """Models of one language. code: ISO 639. ends: whether a sentence can end after its words. asks: whether
    a sentence asks or answers, rather than tells; None without training data.
    """

    code: str
    open_words: OpenWords
    ends: HashedWeights
    asks: HashedWeights | None


def ending_features(words: Sequence[str]) -> Iterator[str]:
    """Yield the features that predict whether a sentence of these normalised words, at least one, is over."""
    known = [_number_or_word(word) for word in words[-MAX_WORDS:]]
    last = known[-1]
    before = known[-2] if len(known) > 1 else "<s>"
    yield f"1 {last}"
    yield f"2 {before} {last}"
    yield f"3 {' '.join(known[-3:])}"
    yield f"4 {' '.join(known[-4:])}"
    yield f"s {last[-3:]}"
    yield f"ss {before[-3:]} {last[-3:]}"
    yield f"ws {before} {last[-3:]}"
    if len(words) > 2:  # "from" can end a sentence that began with "where"
        yield f"f {_number_or_word(words[0])} {last}"
    for ago, word in enumerate(reversed(known)):
        yield f"k{_DISTANCES[ago]} {word}"


def asking_features(words: Sequence[str], asked: bool) -> Iterator[str]:
    """Yield the features that predict whether a sentence of these words, at least one, asks or answers.
    asked: the agent asked before it.
    """
    known = [_number_or_word(word) for word in words]
    length = str(min(len(words), 6)) if len(words) < 10 else "long"
    of_the_whole = (
        f"n {length}",
        f"f {known[0]}",
        f"fn {known[0]} {length}",
        f"ff {' '.join(known[:2])}",
        f"fff {' '.join(known[:3])}",
        f"l {known[-1]}",
    )
    yield from of_the_whole
    if asked:
        yield "asked"
        yield from (f"asked {feature}" for feature in of_the_whole)
    for word in set(known):
        yield f"w {word}"
    for pair in set(pairwise(known)):
        yield f"ww {' '.join(pair)}"


def _number_or_word(word: str) -> str:
    return "0" * min(len(word), 4) if word.isdigit() else word


@cache
def language_of(language: str) -> TurnEndLanguage | None:
    """Return the models of a language by its ISO 639 code, None if there are none."""
    weights, words = LANGUAGES / f"{language}.npz", LANGUAGES / f"{language}.toml"
    if not weights.is_file():
        return None
    table = tomllib.loads(words.read_text("utf-8"))
    lengths = {word: tuple(lengths) for word, lengths in table.pop("lengths").items()}
    of_phrases: dict[str, Any] = {
        name: frozenset(tuple(phrase.split()) for phrase in listed)
        for name, listed in table.items()
        if isinstance(listed, list)
    }
    of_words = {name: frozenset(text.split()) for name, text in table.items() if name not in of_phrases}
    open_words = OpenWords(**of_words, **of_phrases, lengths=lengths)
    with np.load(weights) as stored:
        of = {
            name: HashedWeights(
                stored[name].tobytes(), float(stored[f"{name}_scale"]), float(stored[f"{name}_bias"])
            )
            for name in ("ends", "asks")
            if name in stored
        }
    return TurnEndLanguage(language, open_words, of["ends"], of.get("asks"))
