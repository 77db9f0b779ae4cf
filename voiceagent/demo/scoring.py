"""Whether an answer is right: the facts it must contain and must not, compared as spoken words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voiceagent.demo.exchanges import DECLINES
from voiceagent.demo.labelled import Labelled
from voiceagent.demo.world import spoken_number

_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_DOLLARS = re.compile(r"\$(\d{1,4})\b")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_AFTER_HUNDRED = re.compile(r"\b(hundred|thousand) and\b")


def spoken(text: str) -> str:
    """`text` as lower-case words: numbers spelled out, no punctuation, "and" dropped in numbers."""
    text = text.lower().replace("’", "'")
    text = _CLOCK.sub(lambda m: m[1] if m[2] == "00" else f"{m[1]} {m[2]}", text)
    text = _DOLLARS.sub(r"\1 dollars", text)
    text = _NUMBER.sub(lambda match: spoken_number(int(match[0])), text)
    text = re.sub(r"[^a-z' ]+", " ", text)
    return " ".join(_AFTER_HUNDRED.sub(r"\1", text).split())


def says(text: str, fact: str) -> bool:
    """Whether `text` contains one of the alternatives of `fact` ("|" between them), word for word."""
    words = f" {spoken(text)} "
    return any(f" {spoken(alternative)} " in words for alternative in fact.split("|"))


def declines(text: str) -> bool:
    """Whether `text` refuses a question outside the world."""
    return any(says(text, phrase) for phrase in DECLINES)


@dataclass(frozen=True)
class Verdict:
    """The score of one answer: the facts it misses and the phrases it must not have said."""

    missing: tuple[str, ...]
    forbidden: tuple[str, ...]
    declined: bool
    outside: bool

    @property
    def right(self) -> bool:
        """All facts and nothing forbidden; outside the world: declined."""
        return self.declined if self.outside else not (self.missing or self.forbidden)


def score(labelled: Labelled, answer: str) -> Verdict:
    """Judge `answer` by the facts of `labelled`."""
    return Verdict(
        missing=tuple(fact for fact in labelled.must if not says(answer, fact)),
        forbidden=tuple(phrase for phrase in labelled.must_not if says(answer, phrase)),
        declined=declines(answer),
        outside=labelled.outside,
    )
