"""Models with scripted answers, for tests and for configurations."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from llmcore.engine import Delta, Message, Request, ToolCall, Usage
from voiceagent.session.call import new_id
from voiceagent.transports.telephony.call_start import ABOUT

_DEFAULT_ANSWER = "Okay."
"""The answer when the script has none."""


class Calls:
    """A tool call of the model.

    Args:
        tool: The tool's name.
        **arguments: Its arguments, of JSON's types.

    Raises:
        TypeError: An argument is no JSON value.
    """

    def __init__(self, tool: str, /, **arguments: Any) -> None:
        self.tool = tool
        self.arguments = arguments
        try:
            json.dumps(arguments)
        except (TypeError, ValueError) as error:
            allowed = "allowed: what JSON has, as a model writes it"
            raise TypeError(f"{self!r}: {error}; {allowed}") from error

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"Calls({self.tool!r}{given})"


Step = str | Calls | Sequence[str | Calls]
"""The model's answer in one response: text, a tool call, or a list: text, if any, then concurrent calls."""


class ScriptedModel:
    """Model that answers one step per response, then "Okay." to everything."""

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.requests: list[Request] = []

    async def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the next step."""
        self.requests.append(request)
        step = self.steps.popleft() if self.steps else _DEFAULT_ANSWER
        for delta in _response(step):
            yield delta

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""


class RehearsedModel:
    """Model that answers every call by the same script, to try a served agent and its tools without a
    model.

    Args:
        script: For each turn of the caller the answers, step by step: text, or a table that calls a tool,
            `{ tool = "add", arguments = { pizza = "tuna" } }`. Text before a table is part of the response
            with the call. Without a step the answer is "Okay.".

    Raises:
        ValueError: The script is invalid.
    """

    def __init__(self, script: Sequence[Sequence[str | Mapping[str, Any]]]) -> None:
        self._script = [responses([_step(step) for step in _listed(turn)]) for turn in _listed(script)]

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the step that the conversation has reached."""
        turn, done = _place(request.messages)
        steps = self._script[turn][done:] if 0 <= turn < len(self._script) else []
        for delta in _response(steps[0] if steps else _DEFAULT_ANSWER):
            yield delta


def check_step(step: object) -> None:
    """Check one step of a script.

    Raises:
        TypeError: It is no text, call or list of calls.
    """
    calls: Sequence[object] = ()
    if isinstance(step, list | tuple):
        calls = step[1:] if step and isinstance(step[0], str) else step
    listed = calls and all(isinstance(one, Calls) for one in calls)
    if not isinstance(step, str | Calls) and not listed:
        allowed = (
            "allowed: words, Calls(...) of a tool, or a list of Calls side by side, with words before them"
        )
        raise TypeError(f"a step of the model is {step!r}; {allowed}")


def responses(steps: Sequence[Step]) -> list[Step]:
    """Return the steps, one per response: text directly before a call joins its response."""
    found: list[Step] = []
    for step in steps:
        calls = [step] if isinstance(step, Calls) else step
        if found and isinstance(words := found[-1], str) and not isinstance(calls[0], str):
            found[-1] = [words, *calls]
        else:
            found.append(step)
    return found


def _response(step: Step) -> list[Delta]:
    parts = [step] if isinstance(step, str | Calls) else step
    words = [Delta(part) for part in parts if isinstance(part, str)]
    calls = [part for part in parts if isinstance(part, Calls)]
    if not calls:
        return [*words, Delta(finish_reason="stop", usage=Usage())]
    made = tuple(ToolCall(new_id("call"), call.tool, json.dumps(call.arguments)) for call in calls)
    return [*words, Delta(tool_calls=made), Delta(finish_reason="tool_calls", usage=Usage())]


def _place(messages: Sequence[Message]) -> tuple[int, int]:
    """Return the number of answered turns before the caller's newest (-1 before the first), and of tools
    that ran for it. Metadata of a telephony provider is no turn.
    """
    said = [one for one in messages if not (one.role == "user" and one.content.startswith(ABOUT))]
    roles = [message.role for message in said if message.role != "system"]
    if "user" not in roles:
        return -1, 0
    newest = max(index for index, role in enumerate(roles) if role == "user")
    answered = sum(one == "user" != other for one, other in pairwise(roles[: newest + 1]))
    return answered, roles[newest:].count("tool")


def _listed(value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"script has {value!r}; allowed: a list of the caller's turns, each a list of steps")
    return value


def _step(step: Any) -> str | Calls:
    match step:
        case str():
            return step
        case {"tool": str(tool), **rest} if rest.keys() <= {"arguments"}:
            arguments = rest.get("arguments", {})
            if isinstance(arguments, Mapping):
                return Calls(tool, **arguments)
    raise ValueError(f"script has {step!r}; allowed: words, or a table with `tool` and `arguments`")
