"""What the agent can do on a phone line: tools for the model, and what its calls of them mean. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from llmcore.engine import Tool, ToolCall

HANG_UP = Tool(
    "hang_up",
    "End the phone call. Say goodbye first, in the same answer: the call ends when the caller has heard it.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)


@dataclass(frozen=True, slots=True)
class HangUp:
    """The agent wants to end the call."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The agent wants to hand the caller on. number: where to, as the provider dials it."""

    destination: str
    number: str


class InvalidToolCall(Exception):
    """The model called a tool that there is not, or with wrong arguments; the text tells it so."""


def agent_tools(transfers: Mapping[str, str]) -> tuple[Tool, ...]:
    """The tools of a line. transfers: names that the model knows, and their numbers; none without any."""
    if not transfers:
        return (HANG_UP,)
    destination = {"type": "string", "enum": sorted(transfers), "description": "who to connect to"}
    transfer = Tool(
        "transfer_call",
        "Connect the caller to somebody else and leave the call. Say so first, in the same answer.",
        {
            "type": "object",
            "properties": {"destination": destination},
            "required": ["destination"],
            "additionalProperties": False,
        },
    )
    return (HANG_UP, transfer)


def read_call(call: ToolCall, transfers: Mapping[str, str]) -> HangUp | Transfer:
    """What the model's call means. Raises InvalidToolCall."""
    if call.name == HANG_UP.name:
        return HangUp()
    if call.name != "transfer_call" or not transfers:
        allowed = ", ".join(tool.name for tool in agent_tools(transfers))
        raise InvalidToolCall(f"there is no tool {call.name!r}; allowed: {allowed}")
    try:
        arguments = json.loads(call.arguments)
    except ValueError as error:
        raise InvalidToolCall(f"the arguments of transfer_call are not JSON: {error}") from error
    destination = arguments.get("destination") if isinstance(arguments, dict) else None
    if not isinstance(destination, str) or destination not in transfers:
        allowed = ", ".join(sorted(transfers))
        raise InvalidToolCall(f"destination is {destination!r}; allowed: {allowed}")
    return Transfer(destination, transfers[destination])
