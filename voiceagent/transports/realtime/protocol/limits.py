"""Whether a client's event is within its limits, found out before anything is made of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from voiceagent.transports.limits import EventLimits
from voiceagent.transports.realtime.protocol.errors import PAYLOADS, RequestError

APPEND = "input_audio_buffer.append"
_FEW_COMMAS = 16
"""More commas than an append or an item with sound has; base64 has none."""


def check_length(text: str | bytes, limits: EventLimits) -> None:
    """Refuse a text that is too long for anything but sound, unread: it may be a million values.

    Raises RequestError.
    """
    if len(text) > limits.max_event_bytes:
        commas = text.count(b",") if isinstance(text, bytes) else text.count(",")
        if commas > _FEW_COMMAS:
            check_size(text, "the event", limits)


def check_size(text: str | bytes, name: str, limits: EventLimits) -> None:
    """Refuse JSON, called `name` in errors, that is too long. Raises RequestError."""
    if len(text) > limits.max_event_bytes:
        raise _too_much(name, len(text), "bytes", "max_event_bytes", limits.max_event_bytes)


def check_event(document: dict[str, Any], text: str | bytes, limits: EventLimits) -> None:
    """Refuse an event, read from `text`, that is too much. Raises RequestError."""
    if document.get("type") != APPEND:
        # only the length of the message limits sound and pictures
        longest = limits.max_event_bytes
        if len(text) > longest and len(text) - sum(map(len, _payloads(document))) > longest:
            check_size(text, "the event", limits)
    check_values(document, "the event", limits)
    for name in ("session", "response"):
        if isinstance(inner := document.get(name), dict):
            check_object(inner, name, limits)


def _payloads(document: dict[str, Any]) -> Iterator[str]:
    """Yield the sound and the pictures of an item."""
    item = document.get("item")
    content = item.get("content") if isinstance(item, dict) else None
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield from (part[name] for name in PAYLOADS if isinstance(part.get(name), str))


def check_object(given: dict[str, Any], name: str, limits: EventLimits) -> None:
    """Refuse a session or a response, called `name` in errors, that is too much. Raises RequestError."""
    for field, limit, what in (
        ("tools", "max_tools", "tools"),
        ("input", "max_response_items", "items"),
        ("instructions", "max_instructions_characters", "characters"),
    ):
        value, allowed = given.get(field), getattr(limits, limit)
        if isinstance(value, str | list) and len(value) > allowed:
            raise _too_much(f"{name}.{field}", len(value), what, limit, allowed)
    size = len(to_json(given["tools"])) if given.get("tools") else 0
    if size > limits.max_tools_bytes:
        raise _too_much(f"{name}.tools", size, "bytes", "max_tools_bytes", limits.max_tools_bytes)


def check_values(document: Any, name: str, limits: EventLimits) -> None:
    """Refuse JSON with too many values, or too deep: counted level by level, no further than allowed.

    Raises RequestError.
    """
    values, depth, level = 1, 0, [document]
    while level:
        depth += 1
        if depth > limits.max_event_depth:
            raise _too_much(name, depth, "levels", "max_event_depth", limits.max_event_depth)
        values += sum(map(len, level))
        if values > limits.max_event_values:
            raise _too_much(name, values, "values", "max_event_values", limits.max_event_values)
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for container in inside for value in container if isinstance(value, dict | list)]


def _too_much(name: str, count: int, what: str, limit: str, allowed: int) -> RequestError:
    message = f"{name} has {count} {what}; allowed: at most {allowed} (limits.{limit})"
    param = None if name.startswith("the ") else name
    return RequestError("limit_exceeded", message, param)
