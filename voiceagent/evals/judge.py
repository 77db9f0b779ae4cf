"""Judges: LLMs that answer questions about a call, with a quote from it as evidence."""

from __future__ import annotations

import json
import re
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
_MAX_TOKENS = 300
_PROMPT = """\
You judge a call between a caller and a voice agent. Answer one question about it, only by the transcript.
Reply with one JSON object and nothing else: {"answer": "yes" or "no", "evidence": "..."}.
The evidence is a literal quote from one line of the transcript, without the speaker's name. For "no" it may
be "" if the transcript has nothing to quote."""


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
        raise InvalidReply(f"not one JSON object: {error}") from error
    if not isinstance(document, dict) or document.keys() != {"answer", "evidence"}:
        raise InvalidReply('not an object with exactly the keys "answer" and "evidence"')
    answer, evidence = document["answer"], document["evidence"]
    if answer not in ("yes", "no"):
        raise InvalidReply(f'answer is {answer!r}; allowed: "yes", "no"')
    if not isinstance(evidence, str) or (answer == "yes" and not _plain(evidence)):
        raise InvalidReply(f"evidence is {evidence!r}; allowed: a quote")
    if _plain(evidence) and not any(_plain(evidence) in _plain(line) for line in _lines(call)):
        raise InvalidReply(f"the quote {evidence!r} is not in the transcript")
    return Verdict(question, answer, evidence)


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


def _lines(call: CallRecord) -> list[str]:
    return [*(one.text for one in call.said), *_tool_lines(call)]


def _tool_lines(call: CallRecord) -> list[str]:
    return [
        f"{tool.name}({json.dumps(dict(tool.arguments), ensure_ascii=False)}) -> {tool.output}"
        for tool in call.tools
    ]


def _shown(call: CallRecord) -> str:
    tools = "\n".join(_tool_lines(call))
    return f"Transcript:\n{call.transcript()}" + (f"\n\nTools that ran:\n{tools}" if tools else "")


def _plain(text: str) -> str:
    """Return a quote as it is compared: words and figures, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))
