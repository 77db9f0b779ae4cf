"""Tool calls as text: configured marks, ids and names, and the schema of a forced call.

`control_text` reads calls from replies, in all forms of the known models.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from llmcore.engine import Request, ToolCall
from llmcore.text.whole_characters import join_surrogates

MarkupName = Literal["hermes", "llama3_json", "mistral"]


class MalformedToolCall(ValueError):
    """The text between the marks of a tool call cannot be parsed; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Markup:
    """A model's notation of a call.

    opening: text before it; "" if the JSON comes first, at the very start of the reply. closing: text after
    it; "" if the end of the JSON ends the call.
    """

    opening: str
    closing: str


MARKUPS: dict[MarkupName, Markup] = {
    "hermes": Markup("<tool_call>", "</tool_call>"),
    "llama3_json": Markup("", ""),
    "mistral": Markup("[TOOL_CALLS]", ""),
}


def find_markup(name: MarkupName) -> Markup:
    """Return the markup of this name. Raises ValueError."""
    if name not in MARKUPS:
        raise ValueError(f"tool_markup is {name!r}, allowed are: {', '.join(MARKUPS)}")
    return MARKUPS[name]


BARE_JSON = Markup("", "")
_SERVER = "server"
_UNSENDABLE = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that OpenAI and Anthropic do not allow in function names."""


def new_call_id() -> str:
    """Return an id in the form of OpenAI's API."""
    return f"call_{uuid4().hex[:24]}"


def sendable_name(name: str) -> str:
    """Return the name of a called tool in a form that APIs accept.

    A model may invent a name. An API refuses a history with an invalid one, and with it the rest of the call.
    """
    return _UNSENDABLE.sub("_", name)[:64] or "unnamed"


def join_opaque(server: str, **parts: Any) -> str:
    """Return these parts as one text to be sent back to `server` alone; "" if all are empty.

    Gemini signs its calls (`extra_content`). DeepSeek and others require the thoughts that led to a call
    (`reasoning_content`), Claude its thinking blocks. Another server would refuse such fields.
    """
    given = {name: part for name, part in parts.items() if part}
    return (
        join_surrogates(json.dumps({_SERVER: server, **given}, ensure_ascii=False, default=str))
        if given
        else ""
    )


def opaque_of(text: str, server: str) -> dict[str, Any]:
    """Return the parts of such a text, or none if another server wrote it or it is damaged."""
    if not text:
        return {}
    try:
        parts = json.loads(text)
    except ValueError:  # a log without transcripts
        return {}
    return parts if isinstance(parts, dict) and parts.get(_SERVER) == server else {}


_OF_ANY_OBJECT = frozenset(("type", "properties", "required", "additionalProperties", "title", "description"))
"""Keywords of a schema that allow the empty object, if no property is defined."""


def shown_tools(request: Request) -> frozenset[str]:
    """Return the names of the tools that the prompt shows: those offered, and those called earlier, which
    models call again even where no tool is offered.
    """
    called = (call.name for message in request.messages for call in message.tool_calls)
    return frozenset((*(tool.name for tool in request.tools), *called))


def shown_parameters(request: Request) -> dict[str, tuple[str, ...]]:
    """Return the names of the parameters of offered tools, in order, where a tool's schema lists all."""
    listed = {}
    for tool in request.tools:
        schema = tool.parameters or {}
        properties = schema.get("properties")
        if isinstance(properties, dict) and not schema.get("additionalProperties"):
            listed[tool.name] = tuple(properties)
    return listed


def call_without_arguments(request: Request) -> ToolCall | None:
    """Return the call that `tool_choice` names, if its tool takes no arguments; else None."""
    tool = next((tool for tool in request.tools if tool.name == request.tool_choice), None)
    if tool is None:
        return None
    schema = tool.parameters or {}
    if schema.get("properties") or schema.get("required") or not _OF_ANY_OBJECT.issuperset(schema):
        return None
    return ToolCall(new_call_id(), tool.name, "{}")


def arguments_schema(request: Request) -> dict[str, Any]:
    """Return the JSON schema of the arguments of the tool that `tool_choice` names."""
    tool = next(tool for tool in request.tools if tool.name == request.tool_choice)
    return tool.parameters or {"type": "object"}


def call_schema(request: Request) -> dict[str, Any]:
    """Return the JSON schema of the call that `tool_choice` requires ("required" or a name)."""
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
