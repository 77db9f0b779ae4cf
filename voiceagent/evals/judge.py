"""Judges: LLMs that answer questions about a call, and then name the line that is their evidence.

The answer comes first and alone: asked for both at once, a small model named a line, and then said yes to
nearly everything. The line is named by its number: of 30 replies of a small model with a quote, 27 were
invalid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from llmcore.engine import Llm, LlmError, Message, Request
from voiceagent.evals.exact_tests import kappa
from voiceagent.evals.record import CallRecord

T = TypeVar("T")
Answer = Literal["yes", "no"]
ATTEMPTS = 2
"""Attempts of a judge whose reply is invalid."""
_MAX_TOKENS = 100
_MAX_SHOWN = 80
"""Characters of an invalid reply that its failure quotes."""
_PROMPT = (
    "You judge a call between a caller and a voice agent. "
    "Answer the question about the call with yes or no, and nothing else. "
    "Answer yes only if the lines of the call show it, and no if they do not, or show the opposite."
)
_WHICH_LINE = """\
These are the lines of the call by number:
{lines}

Which line shows it? Reply with its number and nothing else{none}."""
_NUMBER = re.compile(r"(?:line\s+)?(\d+)\b", re.IGNORECASE)


class InvalidReply(ValueError):
    """A judge's reply is not as requested. The message says why."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer to a question; None if it was discarded, for this `problem`."""

    question: str
    answer: Answer | None
    evidence: str = ""
    problem: str = ""


async def ask(llm: Llm, question: str, call: CallRecord) -> Verdict:
    """Return a judge's verdict. An invalid reply is asked for again."""
    lines = _lines(call)
    shown = "\n".join(f"{one.role}: {one.text}" for one in lines)
    messages = [Message("system", _PROMPT), Message("user", f"{shown}\n\nQuestion: {question}")]
    try:
        answer = await _valid(llm, messages, parse_answer)
        numbered = "\n".join(f"{at}. {one.role}: {one.text}" for at, one in enumerate(lines, start=1))
        none = ", or with 0 if none does" if answer == "no" else ""
        which = _WHICH_LINE.format(lines=numbered, none=none)
        messages += [Message("assistant", answer), Message("user", which)]
        number = await _valid(llm, messages, lambda reply: parse_line(reply, answer, len(lines)))
    except LlmError as error:
        return Verdict(question, None, problem=f"the judge failed: {error}")
    except InvalidReply as error:
        return Verdict(question, None, problem=str(error))
    return Verdict(question, answer, lines[number - 1].text if number else "")


async def _valid(llm: Llm, messages: Sequence[Message], parse: Callable[[str], T]) -> T:
    """Return a reply as `parse` reads it. Raises InvalidReply after `ATTEMPTS`, LlmError."""
    asked, left = list(messages), ATTEMPTS
    while True:
        reply = await _complete(llm, asked)
        try:
            return parse(reply)
        except InvalidReply as error:
            left -= 1
            if not left:
                raise
            asked += [Message("assistant", reply), Message("user", f"Invalid: {error}. Reply again.")]


def parse_answer(reply: str) -> Answer:
    """Return the answer of a reply. Raises InvalidReply."""
    answer = reply.strip(" \n.!\"'*`").lower()
    if answer not in ("yes", "no"):
        raise InvalidReply(f"the answer is {_shortened(reply)}; allowed: yes, no")
    return cast("Answer", answer)


def parse_line(reply: str, answer: Answer, count: int) -> int:
    """Return the number of the line that a reply names, 0 for none. count: of lines. Raises InvalidReply."""
    least = 1 if answer == "yes" else 0
    found = _NUMBER.match(reply)
    if found is None or not least <= int(found[1]) <= count:
        raise InvalidReply(f"the line is {_shortened(reply)}; allowed for {answer}: {least} to {count}")
    return int(found[1])


def _shortened(reply: str) -> str:
    return repr(reply if len(reply) <= _MAX_SHOWN else f"{reply[:_MAX_SHOWN]}...")


def agreement(pairs: Iterable[tuple[Verdict, Verdict]]) -> tuple[int, int, float | None]:
    """Return on how many questions two judges agree, of how many with two answers, and Cohen's kappa."""
    answers = [(one.answer, other.answer) for one, other in pairs if one.answer and other.answer]
    same = sum(one == other for one, other in answers)
    return same, len(answers), kappa([(str(one), str(other)) for one, other in answers])


async def _complete(llm: Llm, messages: Sequence[Message]) -> str:
    text = ""
    request = Request(tuple(messages), max_tokens=_MAX_TOKENS, caller="eval")
    async with aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            text += delta.text
    return text.strip()


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as a judge reads it. role: its beginning."""

    role: str
    text: str


def _lines(call: CallRecord) -> list[_Line]:
    """Return what was said, and then the tools that ran."""
    said = [_Line(one.role.capitalize(), one.text) for one in call.said if one.text]
    return said + [
        _Line("Tool", f"{one.name}({json.dumps(dict(one.arguments), ensure_ascii=False)}) -> {one.output}")
        for one in call.tools
    ]
