"""Tool calls as text: the configured marks around them, their ids and names, the schema of a forced call.

`control_text` reads calls from replies, in all forms of the known models.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from llmcore.engine import Request
from llmcore.text.whole_characters import joined

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
_SERVER = "server"
_UNSENDABLE = re.compile(r"[^a-zA-Z0-9_-]")
"""OpenAI's names of functions have nothing else; Anthropic's are the same."""


def new_call_id() -> str:
    """An id as OpenAI's API makes them."""
    return f"call_{uuid4().hex[:24]}"


def sendable_name(name: str) -> str:
    """The name of a called tool as APIs take it back. A model may call what there is not, by any name; a
    history with one that no tool could have is refused, with all that follows in the call.
    """
    return _UNSENDABLE.sub("_", name)[:64] or "unnamed"


def join_opaque(server: str, **parts: Any) -> str:
    """Return these parts as one text to be sent back to `server` alone; "" if all are empty.

    Gemini signs its calls (`extra_content`). DeepSeek and others require the thoughts that led to a call
    (`reasoning_content`), Claude its thinking blocks. Another server would refuse such fields.
    """
    given = {name: part for name, part in parts.items() if part}
    return joined(json.dumps({_SERVER: server, **given}, ensure_ascii=False, default=str)) if given else ""


def opaque_of(text: str, server: str) -> dict[str, Any]:
    """Return the parts of such a text; none if another server wrote it, or if it was not kept intact."""
    if not text:
        return {}
    try:
        parts = json.loads(text)
    except ValueError:  # a log that omits words
        return {}
    return parts if isinstance(parts, dict) and parts.get(_SERVER) == server else {}


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
