"""Facts that embeddings overlook: numbers, dates, names, negations, directions and their order. English only.

For all-MiniLM-L6-v2, "a room for two nights" and "a room for three nights" have a cosine of 0.94; "is there
parking" and "is there no parking" too; "from Rome to Milan" and "from Milan to Rome" 0.997.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmcore.compression.numbers import number_runs


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


AMOUNTS = frozenset(
    _words("""
    single double twin triple once twice both couple pair dozen half quarter hundred thousand million
    """)
)
"""Words for amounts, other than numbers."""

DATES = frozenset(
    _words("""
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    today tonight tomorrow yesterday day week weekday weekend month year morning noon midday afternoon evening
    night midnight spring summer autumn fall winter christmas easter holiday am pm
    """)
)
DIRECTIONS = frozenset(
    _words("""
    next last previous before after until till since from out off up down above below under over early late
    more less most least fewer only always every
    """)
)
NEGATIONS = frozenset(
    _words("""
    no not never none nothing nobody nowhere neither nor without except unless cannot
    dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt havent hasnt
    """)
)
MODALITIES = frozenset(_words("must should still already yet was were"))
"""Words that turn what is possible or true now into a duty, into advice, or into another time."""

QUESTION_WORDS = frozenset(_words("when where why who whom whose how"))

FILLERS = frozenset(
    _words("""
    a an the this that these those there here
    i me my we us our you your it its he him his she her they them their
    is are was were be been being am do does did done have has had got get gets
    can could may might will would shall should must
    and or but so if then than as at by for in into of on to with about what which some any anything something
    just also please thanks thank hello hi hey yes yeah ok okay well uh um er ah
    like want know tell need wondering wonder sorry excuse possible question
    """)
)
POLITENESS = re.compile(
    r"\b(?:if you (?:do(?:n't|nt| not) mind|please)|(?:no|not a) problem|one more thing|just a quick question"
    r"|another question|by the way|good (?:morning|afternoon|evening|day))\b"
)
SAME = (
    (re.compile(r"[\u2018\u2019]"), "'"),
    (re.compile(r"\bwhat (?:time|hour|day)\b"), "when"),
    (re.compile(r"\bwhat place\b"), "where"),
    (re.compile(r"(?<=\d)\s*([ap])\.?m\b\.?"), r" \1m"),
)
"""Synonymous phrases and their canonical form."""

POINTS_BACK = re.compile(
    r"\b(?:it|its|that|those|these|they|them|their|he|she|him|her|then|also|else|another|instead|again)\b"
    r"|^\W*(?:and|but|or|so|what about|how about)\b",
    re.IGNORECASE,
)
"""Patterns of a turn that refers to earlier turns."""

PERSONAL = re.compile(
    r"@|\b\w+ at \w+ dot \w+"  # an e-mail address, written or spoken
    r"|\bmy (?:\w+ )?(?:name|number|address|e-?mail|phone|card|account|booking|reservation|birthday|code)\b"
    r"|\bi am called\b|\bthis is \w+ (?:speaking|calling)\b|\b(?:mister|mr|mrs|ms|miss|doctor|dr)\b",
    re.IGNORECASE,
)
CALLED = re.compile(r"\b(?:I'm|I am|[Tt]his is) [A-Z][a-z]+")
SPOKEN_DIGITS = re.compile(
    r"(?:(?:\d|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple)\b)[\s().,+/-]*)+",
    re.IGNORECASE,
)


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
