"""Words compared as a listener would: without case, punctuation or spacing."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")

BACKCHANNELS = {
    "en": ("uh huh", "mm hmm", "mhm", "hmm", "mm", "m", "uh", "um", "oh", "ah", "yeah", "yes", "yep", "okay",
           "ok", "right", "sure", "i see", "got it", "wow", "really", "go on"),
}  # fmt: skip
"""What listeners say to show that they listen, not to take the turn, by language."""

STOP_WORDS = {
    "en": ("stop", "wait", "no", "hold", "hello", "hey", "sorry", "excuse", "pardon", "help", "cancel"),
}  # fmt: skip
"""Words of which one alone takes the turn from a speaker, by language."""


MISHEARD_BACKCHANNELS = {
    "en": ("a", "am", "amen", "amend", "an", "and", "em", "ham", "hem", "him", "hum", "i", "i'm", "in", "m",
           "me", "men", "mmm", "my", "the", "them", "then"),
}  # fmt: skip
"""What recognizers hear in an "mm hmm", by language; Moonshine: "him and them", "Amen, then", "I am"."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, lower case, without punctuation."""
    return tuple(_WORD.findall(text.lower()))


def beside_backchannels(words: tuple[str, ...], backchannels: frozenset[tuple[str, ...]]) -> tuple[str, ...]:
    """The words that are not part of a backchannel, the longest one counting where several fit."""
    rest: list[str] = []
    at = 0
    while at < len(words):
        fits = [len(phrase) for phrase in backchannels if words[at : at + len(phrase)] == phrase]
        if not fits:
            rest.append(words[at])
        at += max(fits, default=1)
    return tuple(rest)
