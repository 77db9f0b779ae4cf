"""Share of held-out requests with the right tool call and arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from examples.hotel_model.data.labelled_calls import CALLED, LabelledCall
from examples.hotel_model.data.requests import Call
from examples.hotel_model.evaluation.answering import Answer
from llmcore.engine import ToolCall
from llmcore.text.control_text import ControlText
from llmcore.text.tool_calls import MalformedToolCall
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.world import system_prompt

CALLS_TARGET = 0.90  # of the requests: the right tool with the right arguments


@dataclass(frozen=True)
class JudgedCall:
    """A request, the model's answer, and whether its calls are correct."""

    labelled: LabelledCall
    answer: str
    right: bool


def evaluate_calls(answer: Answer, requests: Iterable[LabelledCall]) -> tuple[JudgedCall, ...]:
    """Put every request to `answer`, which offers the agent's tools, and judge its calls."""
    system = {"role": "system", "content": system_prompt()}
    judged = []
    for labelled in requests:
        said = answer([system, *labelled.messages])
        judged.append(JudgedCall(labelled, said, labelled.is_right(calls_in(said)[1])))
    return tuple(judged)


def report_calls(judged: Sequence[JudgedCall], console: Console) -> bool:
    """Print a table of tools, the wrong calls and the share of correct ones; return whether it
    reaches the target.
    """
    table = Table("tool", "requests", "right", title="held-out requests by tool")
    for tool in TOOLS:
        items = [item for item in judged if item.labelled.tool == tool]
        if items:
            table.add_row(tool, str(len(items)), str(sum(item.right for item in items)))
    console.print(table)
    for item in judged:
        if not item.right:
            said = " / ".join(turn["content"] for turn in item.labelled.messages)
            console.print(f"[red]{item.labelled.tool}[/red] {said}", highlight=False)
            console.print(f"    {item.answer.strip()}", highlight=False, markup=False)
    right = sum(item.right for item in judged) / len(judged)
    console.print(f"right calls: {right:.1%} of {len(judged)}, target {CALLS_TARGET:.0%}")
    return right >= CALLS_TARGET


def with_calls_as_words(answer: Answer) -> Answer:
    """Return the same answers, with calls in the notation of labelled facts."""

    def worded(messages: Sequence[Mapping[str, Any]]) -> str:
        words, called = calls_in(answer(messages))
        return " ".join([words, *(f"{CALLED} {call.name}" for call in called)])

    return worded


def calls_in(text: str) -> tuple[str, list[Call]]:
    """Return the words and the calls in a model's answer; an invalid call counts as one of the tool ""."""
    control = ControlText()
    try:
        parts = [*control.push(text), *control.finish()]
    except MalformedToolCall:
        return "", [Call("")]
    words = "".join(part.words for part in parts)
    return words.strip(), [_call(call) for part in parts for call in part.calls]


def _call(call: ToolCall) -> Call:
    arguments = json.loads(call.arguments)
    return Call(call.name, arguments) if isinstance(arguments, dict) else Call("")
