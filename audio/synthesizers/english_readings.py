"""Readings of words that are spelled alike: "A" the letter, "we live here" and "live music", "close to it".

The library that turns text into phonemes tells verbs from nouns by a "to" or "can" right before them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

SIGNS = ".,;:!?'\"-–—…()“”$£€%&+@#/"
"""Signs that are a part of a word between blanks."""

Reading = Literal["letter", "verb", "noun", "near", "habit"]
"""letter: A by its name. verb, noun: as after "to" and "a". near: "close" in "close to it". habit: "used" in
"I used to go".
"""

_NOT_AFTER_ARTICLES = (
    *("and", "as", "at", "dash", "dot", "for", "in", "is", "of", "on", "or", "plus", "the", "to"),
    *("underscore", "was", "with"),
)
_SENTENCE_ENDS = (".", "!", "?", ":", "…", '"', "”", "(")
_HETERONYMS = frozenset(
    (
        *("abuse", "conduct", "contest", "contract", "convert", "coordinate", "duplicate", "estimate"),
        *("excuse", "extract", "house", "increase", "insert", "invite", "live", "lives", "object", "permit"),
        *("present", "produce", "project", "record", "refund", "reject", "separate", "suspect", "use"),
    )
)
"""Words that sound otherwise as verbs."""
_SUBJECTS = frozenset(
    (
        *("i", "you", "we", "they", "who", "people", "guests", "i'll", "you'll", "we'll", "they'll", "i'd"),
        *("you'd", "we'd", "they'd", "let's", "please", "to", "will", "can"),
        *("could", "would", "should", "may", "might", "must", "shall", "do", "does", "did", "don't"),
        *("doesn't", "didn't", "can't", "won't", "couldn't", "wouldn't", "shouldn't", "not", "never"),
        *("always", "also", "still", "just", "usually", "often"),
    )
)
"""Words after which such a word is a verb."""
_HELPED = ("me", "us", "him", "them")
"""So are these, after "let" and "help"."""
_SINGULAR_SUBJECTS = frozenset(("he", "she", "it", "who", "that"))
_OBJECTS = frozenset(
    ("the", "a", "an", "your", "this", "that", "it", "them", "these", "me", "us", "our", "my", "any")
)
"""Words before which such a word is a verb at the beginning of a sentence: "Use the code"."""
_BEHIND_LIVE = frozenset(
    (
        *("", "in", "at", "on", "here", "there", "with", "near", "nearby", "by", "together", "alone", "for"),
        *("abroad", "next", "close", "under", "across", "upstairs", "downstairs", "far", "outside"),
    )
)
"""Words behind the verb "live"; "" at the end."""
_BEFORE_LIVES = frozenset(("their", "our", "your", "many", "save", "saves", "saved", "saving", "of", "lost"))
_BEFORE_NEAR = frozenset(
    (
        *("is", "are", "was", "were", "be", "very", "so", "too", "quite", "how", "really", "it's", "that's"),
        *("they're", "we're", "you're", "pretty", "fairly", "stay", "keep", "located", "comes", "get"),
    )
)
_HAD_A_HABIT = frozenset(
    ("i", "you", "we", "they", "he", "she", "it", "who", "there", "people", "never", "always")
)
"""Words before the "used to" of a habit; behind others it is "used in order to"."""


def reading_of(words: Sequence[str], at: int) -> Reading | None:
    """Return the reading of a word among those of a text; None if it has one, or as the library has it."""
    bare = _bare(words, at)
    if bare == "a":
        return "letter" if _is_letter_a(words, at) else None
    if bare == "close":
        return "near" if _is_near(words, at) else None
    if bare == "used" and _bare(words, at + 1) == "to":
        return "habit" if _bare(words, at - 1) in _HAD_A_HABIT else None
    if bare in ("live", "lives"):
        return _reading_of_live(words, at)
    known = bare in _HETERONYMS or bare.removesuffix("s") in _HETERONYMS
    return "verb" if known and _is_verb(words, at) else None


def _bare(words: Sequence[str], at: int) -> str:
    """Return a word in lower case without signs around it; "" outside of the text."""
    return words[at].strip(SIGNS).lower().replace("’", "'") if 0 <= at < len(words) else ""


def _begins_sentence(words: Sequence[str], at: int) -> bool:
    return at == 0 or not _bare(words, at - 1) or words[at - 1].endswith((*_SENTENCE_ENDS, ","))


def _is_verb(words: Sequence[str], at: int) -> bool:
    before, behind = _bare(words, at - 1), _bare(words, at + 1)
    if _begins_sentence(words, at):
        return behind in _OBJECTS
    if before in _SUBJECTS or (before in _HELPED and _bare(words, at - 2) in ("let", "help")):
        return True
    if words[at].strip(SIGNS).lower().endswith("s") and before in _SINGULAR_SUBJECTS:
        return True
    plural = len(before) > 4 and before.endswith("s") and not before.endswith(("ss", "'s"))
    return plural and behind in _OBJECTS  # "Visitors use the side door"


def _reading_of_live(words: Sequence[str], at: int) -> Reading:
    before, behind = _bare(words, at - 1), _bare(words, at + 1)
    if _bare(words, at) == "lives":
        return "noun" if before in _BEFORE_LIVES else "verb"
    ends = words[at].endswith((*_SENTENCE_ENDS, ","))
    going = before in ("go", "goes", "going", "went")
    is_verb = before in _SUBJECTS or (not _begins_sentence(words, at) and (ends or behind in _BEHIND_LIVE))
    return "verb" if is_verb and not going else "noun"


def _is_near(words: Sequence[str], at: int) -> bool:
    """Return True if "close" means near."""
    before, behind = _bare(words, at - 1), _bare(words, at + 1)
    if before in _BEFORE_NEAR:
        return behind not in _OBJECTS
    return behind in ("to", "by", "enough") and before not in _SUBJECTS


def _is_letter_a(words: Sequence[str], at: int) -> bool:
    """Return True if a word is the letter A: in spelling, before punctuation, and in "option A is free"."""
    word, bare = words[at], words[at].strip(SIGNS)
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if word[-1] in ',.;:!?)"”' and not word.endswith(".."):
        return True
    near = (after, "" if before.strip(SIGNS) in ("I", "i") else before)
    if any(_is_letter(one) and (bare == "A" or one.islower()) for one in near):  # but "a U turn"
        return True
    if bare == "a" or word[0] != "A":
        return False
    in_sentence = any(map(str.isalnum, before)) and not before.endswith(_SENTENCE_ENDS)
    return after in _NOT_AFTER_ARTICLES or (in_sentence and (not after or after.islower()))


def _is_letter(word: str) -> bool:
    return len(word.strip(SIGNS)) == 1 and word.strip(SIGNS).isalpha()
