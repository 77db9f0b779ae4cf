"""Judges: LLMs that answer questions about a call, and name the line that is their evidence.

They name it by its number: of 30 replies of a small model with a quote, 27 were invalid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from llmcore.engine import Llm, LlmError, Message, Request
from voiceagent.evals.exact_tests import kappa
from voiceagent.evals.record import CallRecord

Answer = Literal["yes", "no"]
ATTEMPTS = 2
"""Attempts of a judge whose reply is invalid."""
_MAX_TOKENS = 100
_MAX_SHOWN = 80
"""Characters of an invalid reply that its failure quotes."""
_PROMPT = """\
You judge a call between a caller and a voice agent. Answer one question about it, only by its lines.
First find the line that decides the question, then answer it.
Reply with one JSON object and nothing else: {"line": number of the line, "answer": "yes" or "no"}.
For "no" the number may be 0 if no line decides it.

Example:
1. Caller: Is there a sauna?
2. Agent: Yes, on the fifth floor.
Question: Did the agent say where the sauna is?
{"line": 2, "answer": "yes"}
Question: Did the agent say what the sauna costs?
{"line": 0, "answer": "no"}"""


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
    problem = ""
    messages = [Message("system", _PROMPT), Message("user", f"{_shown(call)}\n\nQuestion: {question}")]
    for _ in range(ATTEMPTS):
        try:
            reply = await _complete(llm, messages)
            return parse(reply, question, call)
        except LlmError as error:
            return Verdict(question, None, problem=f"the judge failed: {error}")
        except InvalidReply as error:
            problem = str(error)
            messages += [Message("assistant", reply), Message("user", f"Invalid: {problem}. Reply again.")]
    return Verdict(question, None, problem=problem)


def parse(reply: str, question: str, call: CallRecord) -> Verdict:
    """Return the verdict of a reply. Raises InvalidReply."""
    try:
        document = json.loads(reply)
    except ValueError as error:
        shown = reply if len(reply) <= _MAX_SHOWN else f"{reply[:_MAX_SHOWN]}..."
        raise InvalidReply(f"not one JSON object: {shown!r}") from error
    if not isinstance(document, dict) or document.keys() != {"line", "answer"}:
        raise InvalidReply('not an object with exactly the keys "line" and "answer"')
    number, answer, lines = document["line"], document["answer"], _lines(call)
    if answer not in ("yes", "no"):
        raise InvalidReply(f'answer is {answer!r}; allowed: "yes", "no"')
    least = 1 if answer == "yes" else 0
    if type(number) is not int or not least <= number <= len(lines):
        raise InvalidReply(f"line is {number!r}; allowed for {answer!r}: {least} to {len(lines)}")
    return Verdict(question, answer, lines[number - 1].text if number else "")


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


def _shown(call: CallRecord) -> str:
    return "\n".join(f"{at}. {one.role}: {one.text}" for at, one in enumerate(_lines(call), start=1))
