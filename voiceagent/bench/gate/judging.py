"""Correctness of answers: by the facts of the set, and by an LLM for criteria."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import aclosing

from llmcore.engine import Llm, Message, Request
from voiceagent.bench.gate.load import Answered
from voiceagent.bench.material import LabelledQuestion
from voiceagent.bench.scoring import judge
from voiceagent.validation.errors import CommandFailed

_INSTRUCTIONS = "You check what a voice agent said to a caller. Answer with one word: yes or no."
_VERDICT_TOKENS = 8


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
