"""Text as words, without case, punctuation and spacing."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

BACKCHANNELS = {
    "en": ("uh huh", "mm hmm", "mhm", "hmm", "mm", "m", "uh", "um", "oh", "ah", "yeah", "yes", "yep", "okay",
           "ok", "right", "sure", "i see", "got it", "wow", "really", "go on"),
    "de": ("mhm", "hm", "hmm", "mm", "m", "äh", "ähm", "ah", "aha", "ach", "ach so", "oh", "ja", "ja ja",
           "jo", "okay", "ok", "gut", "genau", "klar", "stimmt", "richtig", "verstehe", "ich verstehe",
           "alles klar", "echt", "wirklich"),
    "es": ("ajá", "mhm", "hm", "hmm", "mm", "m", "eh", "em", "ah", "oh", "sí", "sí sí", "ya", "ya veo",
           "vale", "okay", "ok", "bien", "bueno", "claro", "claro que sí", "exacto", "cierto", "entiendo",
           "de acuerdo", "de verdad", "en serio"),
}  # fmt: skip
"""Phrases of listeners who do not want the turn, by language."""

HESITATIONS = {
    "en": ("uh", "um", "er", "erm", "hmm", "hm", "mm", "m"),
    "de": ("äh", "ähm", "öh", "hm", "hmm", "mm", "m"),
    "es": ("eh", "em", "este", "hm", "hmm", "mm", "m"),
}  # fmt: skip
"""Words of callers who think about their next ones, by language."""

STOP_WORDS = {
    "en": ("stop", "wait", "no", "hold", "hello", "hey", "sorry", "excuse", "pardon", "help", "cancel"),
    "de": ("stopp", "stop", "halt", "warte", "warten", "moment", "nein", "hallo", "hey", "entschuldigung",
           "verzeihung", "sorry", "hilfe", "abbrechen"),
    "es": ("para", "pare", "alto", "espera", "espere", "momento", "no", "hola", "oye", "oiga", "perdón",
           "perdona", "perdone", "disculpa", "disculpe", "ayuda", "cancela", "cancelar"),
}  # fmt: skip
"""Words that take the turn on their own, by language."""


MISHEARD_BACKCHANNELS = {
    "en": ("a", "am", "amen", "amend", "an", "and", "em", "ham", "hem", "him", "hum", "i", "i'm", "in", "m",
           "me", "men", "mmm", "my", "the", "them", "then"),
}  # fmt: skip
"""Words recognized for an "mm hmm", by language; Moonshine: "him and them", "Amen, then", "I am"."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, lower case, without punctuation."""
    return tuple(_WORD.findall(text.lower()))


def sentences_of(text: str) -> list[tuple[str, ...]]:
    return [words for part in _SENTENCE_END.split(text.strip()) if (words := words_of(part))]


def last_sentence(text: str) -> tuple[str, ...]:
    """Return the words of the last sentence, () if there is none."""
    return (sentences_of(text) or [()])[-1]


def phrase_length_at(words: Sequence[str], at: int, phrases: Collection[tuple[str, ...]]) -> int:
    """Return the length in words of the longest phrase that starts at this index; 0 if none does."""
    fits = (len(phrase) for phrase in phrases if tuple(words[at : at + len(phrase)]) == phrase)
    return max(fits, default=0)


def without_backchannels(words: tuple[str, ...], backchannels: frozenset[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words that are not part of a backchannel. The longest backchannel wins."""
    rest: list[str] = []
    at = 0
    while at < len(words):
        length = phrase_length_at(words, at, backchannels)
        if not length:
            rest.append(words[at])
        at += max(length, 1)
    return tuple(rest)
