"""English words that distinguish questions with similar embeddings."""

from __future__ import annotations

import re


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
