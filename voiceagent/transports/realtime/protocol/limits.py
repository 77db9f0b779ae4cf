"""Limits of a client's event, checked before it is validated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from voiceagent.transports.limits import EventLimits
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.validation.errors import PAYLOADS

APPEND = "input_audio_buffer.append"
_FEW_COMMAS = 16
"""More commas than an append or an item with audio has; base64 has none."""


def check_length(text: str | bytes, limits: EventLimits) -> None:
    """Refuse an overlong text that cannot be audio before it is parsed: it may hold a million values.

    Raise RequestError.
    """
    if len(text) > limits.max_event_bytes:
        commas = text.count(b",") if isinstance(text, bytes) else text.count(",")
        if commas > _FEW_COMMAS:
            check_size(text, "the event", limits)


def check_size(text: str | bytes, name: str, limits: EventLimits) -> None:
    """Refuse overlong JSON, called `name` in errors. Raise RequestError."""
    if len(text) > limits.max_event_bytes:
        raise _too_much(name, len(text), "bytes", limits.max_event_bytes)


def check_event(
    document: dict[str, Any],
    text: str | bytes,
    limits: EventLimits,
    audio_events: tuple[str, ...] = (APPEND,),
) -> None:
    """Raise RequestError for an event, parsed from `text`, over a limit. audio_events: types with audio."""
    if document.get("type") not in audio_events:
        # audio and pictures are limited by the length of the message only
        longest = limits.max_event_bytes
        if len(text) > longest and len(text) - sum(map(len, _payloads(document))) > longest:
            check_size(text, "the event", limits)
    check_values(document, "the event", limits)
    for name in ("session", "response"):
        if isinstance(inner := document.get(name), dict):
            check_object(inner, name, limits)


def _payloads(document: dict[str, Any]) -> Iterator[str]:
    """Yield the audio and the pictures of an item."""
    item = document.get("item")
    content = item.get("content") if isinstance(item, dict) else None
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield from (part[name] for name in PAYLOADS if isinstance(part.get(name), str))


def check_object(given: dict[str, Any], name: str, limits: EventLimits) -> None:
    """Refuse a session, a Live session's backend, or a response that exceeds a limit. Raise RequestError.

    name: in errors.
    """
    for field, allowed, what in (
        ("tools", limits.max_tools, "tools"),
        ("input", limits.max_response_items, "items"),
        ("instructions", limits.max_instructions_characters, "characters"),
    ):
        value = given.get(field)
        if isinstance(value, str | list) and len(value) > allowed:
            raise _too_much(f"{name}.{field}", len(value), what, allowed)
    size = len(to_json(given["tools"])) if given.get("tools") else 0
    if size > limits.max_tools_bytes:
        raise _too_much(f"{name}.tools", size, "bytes", limits.max_tools_bytes)
    delegation = given.get("delegation")
    if isinstance(delegation, dict) and isinstance(backend := delegation.get("responses"), dict):
        check_object(backend, f"{name}.delegation.responses", limits)


def check_values(document: Any, name: str, limits: EventLimits) -> None:
    """Refuse JSON with too many values or levels. Counts level by level and stops at the limit, so that the
    check itself is cheap. Raise RequestError.
    """
    values, depth, level = 1, 0, [document]
    while level:
        depth += 1
        if depth > limits.max_event_depth:
            raise _too_much(name, depth, "levels", limits.max_event_depth)
        values += sum(map(len, level))
        if values > limits.max_event_values:
            raise _too_much(name, values, "values", limits.max_event_values)
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for container in inside for value in container if isinstance(value, dict | list)]


def _too_much(name: str, count: int, what: str, allowed: int) -> RequestError:
    message = f"{name} has {count} {what}; allowed: at most {allowed}"
    param = None if name.startswith("the ") else name
    return RequestError("limit_exceeded", message, param)
