"""Finds the tool calls that a model writes into its text, so that they are carried out and never spoken.

The markups are those of the models' own chat templates: Hermes and Qwen write
`<tool_call>{json}</tool_call>`, Llama 3 writes the whole reply as one JSON object, Mistral writes
`[TOOL_CALLS][{json}, ...]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from llmcore.engine import Request, ToolCall
from llmcore.text.stop_strings import held_back

MarkupName = Literal["hermes", "llama3_json", "mistral"]


class MalformedToolCall(ValueError):
    """What stands between the marks of a tool call is no tool call; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Markup:
    """How a model marks a call.

    opening: what the call begins with; "" when the JSON itself begins it, at the very start of the reply.
    closing: what ends it; "" when the end of the JSON does.
    """

    opening: str
    closing: str


MARKUPS: dict[MarkupName, Markup] = {
    "hermes": Markup("<tool_call>", "</tool_call>"),
    "llama3_json": Markup("", ""),
    "mistral": Markup("[TOOL_CALLS]", ""),
}
BARE_JSON = Markup("", "")
_UNSENDABLE = re.compile(r"[^a-zA-Z0-9_-]")
"""OpenAI's names of functions have nothing else; Anthropic's are the same."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a piece of a reply turned out to be: words to say, and calls that are complete."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


def new_call_id() -> str:
    """An id as OpenAI's API makes them."""
    return f"call_{uuid4().hex[:24]}"


def sendable_name(name: str) -> str:
    """The name of a called tool as APIs take it back. A model may call what there is not, by any name; a
    history with one that no tool could have is refused, with all that follows in the call.
    """
    return _UNSENDABLE.sub("_", name)[:64] or "unnamed"


class ToolCallParser:
    """Takes a reply piece by piece; holds back only what may be the beginning of a mark.

    wanted: whether calls are told; else they are left out of the text, whatever stands in them.
    """

    def __init__(
        self, markup: Markup, new_id: Callable[[], str] = new_call_id, *, wanted: bool = True
    ) -> None:
        self._markup = markup
        self._new_id = new_id
        self._wanted = wanted
        self._pending = ""
        self._state: Literal["start", "text", "call", "closing", "after"] = "start"

    def push(self, text: str) -> Parsed:
        """Take the next piece. Raises MalformedToolCall."""
        self._pending += text
        said: list[str] = []
        calls: list[ToolCall] = []
        while True:
            state, length = self._state, len(self._pending)
            if state == "call":
                calls += self._take_call()
            elif state == "closing":
                self._take_closing()
            else:
                said.append(self._take_text())
            if (self._state, len(self._pending)) == (state, length):
                return Parsed("".join(said), tuple(calls))

    def finish(self, cut: bool = False) -> Parsed:
        """The reply is over; `cut` says that it ran into the token limit, and forgives an unfinished call.

        Raises MalformedToolCall for an unfinished call otherwise.
        """
        pending, self._pending = self._pending, ""
        if self._state == "closing":
            return Parsed()
        if self._state != "call":
            return Parsed(pending)
        try:
            return Parsed("", self._calls(json.loads(pending, strict=False)))
        except json.JSONDecodeError:
            if cut or not self._wanted:
                return Parsed()
            raise MalformedToolCall(f"the reply ends inside this, which is not JSON: {pending!r}") from None

    def _take_text(self) -> str:
        """Move on to the next call; returns the text that is certainly before it."""
        bare = not self._markup.opening
        if self._state == "after" or (bare and self._state == "start"):
            self._pending = self._pending.lstrip(" \n\t;")
            if not self._pending:
                return ""
        if bare:
            return self._take_bare_text()
        before, mark, rest = self._pending.partition(self._markup.opening)
        if mark:
            self._state, self._pending = "call", rest
            return before
        certain = len(before) - held_back(before, (self._markup.opening,))
        if certain:
            self._state = "text"
        self._pending = before[certain:]
        return before[:certain]

    def _take_bare_text(self) -> str:
        if self._state != "text" and self._pending.startswith("{"):
            self._state = "call"
            return ""
        self._state = "text"
        text, self._pending = self._pending, ""
        return text

    def _take_call(self) -> tuple[ToolCall, ...]:
        """Take a complete call from the front of what is pending; () while it is incomplete.

        Its JSON is complete without the mark that follows, so that a tool does not wait for that.
        """
        body = self._pending.lstrip()
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(body)
        except json.JSONDecodeError:  # incomplete, or nonsense, which only the end of the reply shows
            return ()
        if not isinstance(value, dict | list) and end == len(body):  # a number may have more digits
            return ()
        self._state, self._pending = "closing", body[end:]
        return self._calls(value)

    def _take_closing(self) -> None:
        """Leave out the mark behind a call, if there is one."""
        rest = self._pending.lstrip()
        closing = self._markup.closing
        if rest == closing or not closing.startswith(rest):
            self._state, self._pending = "after", rest.removeprefix(closing)

    def _calls(self, value: Any) -> tuple[ToolCall, ...]:
        if not self._wanted:
            return ()
        return tuple(self._call(item) for item in (value if isinstance(value, list) else [value]))

    def _call(self, value: Any) -> ToolCall:
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise MalformedToolCall(f'no "name" in {value!r}')
        arguments = value.get("arguments", value.get("parameters", {}))
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        return ToolCall(self._new_id(), value["name"], arguments)


def call_schema(request: Request) -> dict[str, Any]:
    """A JSON schema of one call as `tool_choice` asks for it, "required" or a name; for guided decoding."""
    shapes = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": tool.parameters or {"type": "object"}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in request.tools
        if request.tool_choice in ("required", tool.name)
    ]
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
