"""Limits of MCP tools and results in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import from_json, to_json

from voiceagent.conversation.mcp import ListedTool


class TooMuch(ValueError):
    """A server offers more than fits into prompts; the text names the excess and the limit."""


MAX_LISTED = 1_000
"""Tools of a server's list that are read; a list could be endless."""


def check_listed(tools: Sequence[ListedTool], max_bytes: int) -> None:
    """Raise TooMuch if a server's list is too long to read."""
    if len(tools) > MAX_LISTED:
        raise TooMuch(f"it lists over {MAX_LISTED} tools; allowed: at most {MAX_LISTED}")
    if (size := _bytes_of(tools)) > max_bytes:
        raise TooMuch(f"its list has {size} bytes; allowed: at most {max_bytes}")


def check_size(tools: Sequence[ListedTool], max_tools: int, max_bytes: int) -> None:
    """Raise TooMuch if the tools are too many or too large to offer."""
    if len(tools) > max_tools:
        raise TooMuch(f"it offers {len(tools)} tools; allowed: at most {max_tools}")
    if (size := _bytes_of(tools)) > max_bytes:
        raise TooMuch(f"its tools have {size} bytes; allowed: at most {max_bytes}")


def _bytes_of(tools: Sequence[ListedTool]) -> int:
    return sum(len(tool.name) + len(tool.description) + len(to_json(tool.schema)) for tool in tools)


def without_arguments(tool: ListedTool, fixed: Mapping[str, Any]) -> ListedTool:
    """Return a tool as the model sees it: without the fixed arguments."""
    properties = tool.schema.get("properties")
    if not fixed or not isinstance(properties, dict):
        return tool
    schema = dict(tool.schema)
    schema["properties"] = {name: value for name, value in properties.items() if name not in fixed}
    if isinstance(required := schema.get("required"), list):
        schema["required"] = [name for name in required if name not in fixed]
    return replace(tool, schema=schema)


def with_arguments(tool: ListedTool, given: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments: the model's, overridden by the fixed ones that the tool has."""
    properties = tool.schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    overrides = {name: value for name, value in fixed.items() if name in known}
    return {**{name: value for name, value in given.items() if name not in fixed}, **overrides}


def as_text(content: Sequence[Mapping[str, Any]], structured: Any, max_characters: int) -> str:
    """Return a result as text for the model. content: MCP's content blocks, as JSON.

    The text comes first, then the structured content unless the text contains it.
    """
    parts = [part for part in map(_text_of_block, content) if part]
    if structured is not None and not _contains(parts, structured):
        parts.append(to_json(structured).decode())
    return cut("\n".join(parts) or "done", max_characters)


def _contains(parts: Sequence[str], structured: Any) -> bool:
    """Return True if the texts, one or all together, contain the structured content as JSON.

    SDKs wrap values that are not objects as `{"result": ...}`.
    """
    values = [_value(part) for part in parts]
    wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
    expected = (structured, structured["result"]) if wrapped else (structured,)
    return any(value in (*values, *parts, values) for value in expected) or (
        bool(parts) and structured in ({}, [])
    )


def _value(text: str) -> Any:
    """Return a text parsed as JSON, or the text itself if it is none."""
    try:
        return from_json(text)
    except ValueError:
        return text


def cut(text: str, max_characters: int) -> str:
    """Return `text` cut to `max_characters`, with a note of the original length."""
    if len(text) <= max_characters:
        return text
    mark = f" [cut here: {len(text)} characters in all]"
    return text[: max(0, max_characters - len(mark))] + mark


def _text_of_block(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": uri}:
            return str(uri)
        case _:
            return f"[{block.get('type', 'something')}, which cannot be told]"
