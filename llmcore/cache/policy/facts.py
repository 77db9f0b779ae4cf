"""Facts that embeddings overlook: numbers, dates, names, negations, directions and their order. English only.

For all-MiniLM-L6-v2, "a room for two nights" and "a room for three nights" have a cosine of 0.94; "is there
parking" and "is there no parking" too; "from Rome to Milan" and "from Milan to Rome" 0.997.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmcore.cache.policy.english import (
    AMOUNTS,
    DATES,
    DIRECTIONS,
    FILLERS,
    MODALITIES,
    NEGATIONS,
    POLITENESS,
    QUESTION_WORDS,
    SAME,
)
from llmcore.compression.numbers import number_runs

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCE = re.compile(r"[.!?]\s+")
_ACCOUNTED_FOR = AMOUNTS | NEGATIONS | DIRECTIONS | DATES | QUESTION_WORDS | MODALITIES | FILLERS


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a text.

    Tuples are in the text's order. numbers: digits and words alike. amounts: "double", "half" and the like.
    dates: days, months, parts of the day. directions: "before", "from", "last" and the like. negations: their
    count. asked: question words. modalities: "must", "still", "was" and the like. words: all other content
    words. names: content words with a capital inside a sentence.
    """

    numbers: tuple[str, ...]
    amounts: tuple[str, ...]
    dates: tuple[str, ...]
    directions: tuple[str, ...]
    negations: int
    asked: frozenset[str]
    modalities: frozenset[str]
    names: frozenset[str]
    words: tuple[str, ...]


def facts(text: str) -> Facts:
    """Extract the facts of a text."""
    plain = text.lower()
    for pattern, same in SAME:
        plain = pattern.sub(same, plain)
    plain = POLITENESS.sub(" ", plain)
    runs = list(number_runs(plain, "en"))
    for run in reversed(runs):
        plain = f"{plain[: run.start]} {plain[run.end :]}"
    tokens = [_stem(token) for token in _TOKEN.findall(plain)]
    kinds = dict.fromkeys(tokens)
    words = tuple(token for token in kinds if token not in _ACCOUNTED_FOR and "'" not in token)
    return Facts(
        numbers=tuple(run.key for run in runs),
        amounts=tuple(token for token in kinds if token in AMOUNTS),
        dates=tuple(token for token in kinds if token in DATES),
        directions=tuple(token for token in kinds if token in DIRECTIONS),
        negations=sum(token in NEGATIONS or token.endswith("n't") for token in tokens),
        asked=QUESTION_WORDS.intersection(kinds),
        modalities=MODALITIES.intersection(kinds),
        names=_capitals(text).intersection(words),
        words=words,
    )


def same_facts(one: Facts, other: Facts) -> bool:
    """Return True if two questions with similar embeddings may share an answer.

    They differ if each has a content word that the other lacks (red and white, Anna and Paul), or if common
    words come in another order (from Rome to Milan). Words that only one of them adds are left to the
    embedding.
    """
    words, others = frozenset(one.words), frozenset(other.words)
    return (
        one.numbers == other.numbers
        and one.amounts == other.amounts
        and one.dates == other.dates
        and one.directions == other.directions
        and one.negations == other.negations
        and one.modalities == other.modalities
        and one.names <= others
        and other.names <= words
        and (one.asked == other.asked or not (one.asked and other.asked))
        and (words <= others or others <= words)
        and [word for word in one.words if word in others] == [word for word in other.words if word in words]
    )


def _stem(token: str) -> str:
    """Strip plurals, time comparatives and the "'s" of "what's" and "Monday's"; keep all else."""
    token = token.removesuffix("'s")
    if token in ("earlier", "earliest", "later", "latest"):
        return "early" if token.startswith("ear") else "late"
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is", "ys")):
        return token[:-1]
    return token.removesuffix("s") if token.removesuffix("s") in DATES else token


def _capitals(text: str) -> frozenset[str]:
    """Return the capitalized words that do not begin a sentence."""
    inside = (token for sentence in _SENTENCE.split(text) for token in _TOKEN.findall(sentence)[1:])
    return frozenset(_stem(token.lower()) for token in inside if token[0].isupper())
