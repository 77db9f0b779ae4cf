"""Checks of transcripts of spelling: what kind of answer one is, and whether its search was lost."""

from __future__ import annotations

import re
from difflib import get_close_matches

from audio.recognizers.moonshine_grammars import ALPHABET, NO_NAMES, NUMBERS

_REFUSED = re.compile(r"\W*(?:no|nope|oh|not|yo)\b", re.I)
_NEAR_EXAMPLE = 0.8
"""Minimum similarity of a word and the word of the alphabet that it probably is."""
_MAX_NAME_WORDS = 4
"""Words of a name that is said; more may be misheard letters."""
_SPELLED_RUN = re.compile(r"(?:\b[a-z0-9]\b[\s.,-]*){12,}")
_SPELLED_TWICE = re.compile(r"(.{4,5})\1{2}|(.{6,})\2")
"""Pattern of letters that were said once, and repeat: "h-a-n-f-o-n-o-v-a-n-f-o-n-o-v-a"."""
_EQUAL_DIGITS = re.compile(rf"\b(\d|{'|'.join(NUMBERS)})\b(?:[\s.,-]+\1\b){{4}}|(\d)\2{{4}}", re.I)
_REPEATED = re.compile(r"([a-z])\1{4}|([a-z]{2})\2{3}|([a-z]{3})\3{3}")


def may_correct(text: str) -> bool:
    """Return True if a free transcript begins as a refusal does, or what recognizers make of it."""
    return _REFUSED.match(text) is not None


def spells_by_letters(text: str) -> bool:
    """Return True if a free transcript has letters next to each other."""
    return re.search(r"\b[a-z]\b\W+\b[a-z]\b", text.lower()) is not None


def is_name_in_words(text: str) -> bool:
    """Return True if a free transcript is a name that was said and not spelled: "Emma Louise Parker"."""
    words = re.findall(r"[a-z']+", text.lower())
    return 0 < len(words) <= _MAX_NAME_WORDS and all(
        len(word) > 2 and word not in NO_NAMES.split() and word not in ALPHABET.split() for word in words
    )


def runs_away(text: str) -> bool:
    """Return True if a transcript repeats letters as a search does that is lost: "t-a-t-a-t-a-t-a"."""
    lower = text.lower()
    spelled = (re.sub(r"[^a-z0-9]", "", run) for run in _SPELLED_RUN.findall(lower))
    twice = any(_SPELLED_TWICE.search(letters) for letters in spelled)
    return twice or _REPEATED.search(re.sub(r"[^a-z0-9]", "", lower)) is not None


def may_run_away(text: str) -> bool:
    """Return True if a transcript runs away, or has so many equal digits that a search may lose count."""
    return runs_away(text) or _EQUAL_DIGITS.search(text) is not None


def spells_by_words(text: str) -> bool:
    """Return True if a free transcript of spelling has words of the alphabet, or nearly: "uniforms"."""
    words = re.findall(r"[a-z]+(?:-ray)?", text.lower())
    return any(get_close_matches(word, ALPHABET.split(), 1, _NEAR_EXAMPLE) for word in words)
