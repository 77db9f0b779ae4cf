"""Correctness of an answer: facts it must and must not contain, compared as spoken words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words

_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_DOLLARS = re.compile(r"\$(\d{1,4})\b")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_AFTER_HUNDRED = re.compile(r"\b(hundred|thousand) and\b")
_ENGLISH = find_language("en")


def spoken(text: str) -> str:
    """Return lower-case words: numbers spelled out, no punctuation, "and" dropped in numbers."""
    text = text.lower().replace("’", "'")
    text = _CLOCK.sub(lambda m: m[1] if m[2] == "00" else f"{m[1]} {m[2]}", text)
    text = _DOLLARS.sub(r"\1 dollars", text)
    text = _NUMBER.sub(lambda match: in_words(int(match[0]), _ENGLISH) or "", text)
    text = re.sub(r"[^a-z' ]+", " ", text)
    return " ".join(_AFTER_HUNDRED.sub(r"\1", text).split())


def says(text: str, fact: str) -> bool:
    """Return True if `text` contains one of the alternatives of `fact` (separated by "|"), word for word."""
    words = f" {spoken(text)} "
    return any(f" {spoken(alternative)} " in words for alternative in fact.split("|"))


@dataclass(frozen=True)
class Verdict:
    """Score of one answer: missing facts and forbidden phrases."""

    missing: tuple[str, ...]
    forbidden: tuple[str, ...]

    @property
    def right(self) -> bool:
        """True if no fact is missing and nothing forbidden was said."""
        return not (self.missing or self.forbidden)


def judge(answer: str, must: Iterable[str], must_not: Iterable[str] = ()) -> Verdict:
    """Score `answer` by the facts it must say and the phrases it must not."""
    return Verdict(
        missing=tuple(fact for fact in must if not says(answer, fact)),
        forbidden=tuple(phrase for phrase in must_not if says(answer, phrase)),
    )
