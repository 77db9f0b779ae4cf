"""Correctness of an answer: by facts it must and must not have, as spoken words; by an LLM for criteria."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from llmcore.engine import Llm, Message, Request
from voiceagent.bench.material import LabelledQuestion
from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words
from voiceagent.validation.errors import CommandFailed

_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_DOLLARS = re.compile(r"\$(\d{1,4})\b")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_AFTER_HUNDRED = re.compile(r"\b(hundred|thousand) and\b")
_ENGLISH = find_language("en")
_INSTRUCTIONS = "You check what a voice agent said to a caller. Answer with one word: yes or no."
_VERDICT_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of the set with its answer."""

    labelled: LabelledQuestion
    said: str


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


def check_judge(questions: Sequence[LabelledQuestion], judged_by_llm: bool) -> None:
    """Raise CommandFailed if criteria have no judge, or a judge has no criteria."""
    with_criterion = sum(labelled.criterion is not None for labelled in questions)
    if with_criterion and not judged_by_llm:
        raise CommandFailed(
            f"{with_criterion} questions have a criterion, of which an LLM judges: --judge CONFIG"
        )
    if judged_by_llm and not with_criterion:
        raise CommandFailed("--judge has nothing to judge: no question has a criterion")


async def verdicts(answers: Sequence[Answered], llm: Llm | None) -> dict[str, list[bool]]:
    """Return whether each answer is correct, by the share that it counts for. llm: judges criteria.

    A verdict that is neither yes nor no counts as no. Raises LlmError.
    """
    shares: dict[str, list[bool]] = {"right answers %": [], "rightly declined %": []}
    for answered in answers:
        labelled = answered.labelled
        right = judge(answered.said, labelled.must, labelled.must_not).right
        if right and labelled.criterion is not None and llm is not None:
            right = await _fulfils(llm, answered, labelled.criterion)
        shares["rightly declined %" if labelled.outside else "right answers %"].append(right)
    return shares


async def _fulfils(llm: Llm, answered: Answered, criterion: str) -> bool:
    names = {"user": "Caller", "assistant": "Agent"}
    lines = [f"{names[message.role]}: {message.content}" for message in answered.labelled.messages]
    question = "\n".join(
        [
            *lines,
            f"Agent: {answered.said}",
            "",
            f"What is wanted of the last answer: {criterion}",
            "Is it so?",
        ]
    )
    request = Request(
        (Message("system", _INSTRUCTIONS), Message("user", question)), max_tokens=_VERDICT_TOKENS
    )
    said = ""
    async with aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            said += delta.text
    words = re.findall(r"[a-z]+", said.lower())
    return words[:1] == ["yes"]
