"""Decoder of Live client events, from JSON text to models."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from voiceagent.conversation.history import Item, MessageItem, ToolOutputItem
from voiceagent.transports.limits import EventLimits
from voiceagent.transports.live.protocol.client_events import (
    AUDIO_APPEND,
    CLIENT_EVENTS,
    FIXTURE_PLAY,
    REFUSED_EVENTS,
    AddedMessage,
    ClientEvent,
    FunctionOutput,
    SessionStart,
)
from voiceagent.transports.realtime.protocol.decode import named_id, parse_event
from voiceagent.transports.realtime.protocol.errors import RequestError, from_validation
from voiceagent.transports.realtime.protocol.limits import check_event, check_length
from voiceagent.validation.errors import shorten

_OUTPUT: TypeAdapter[FunctionOutput] = TypeAdapter(FunctionOutput)
_MESSAGE: TypeAdapter[AddedMessage] = TypeAdapter(AddedMessage)
_ROLES = {"developer": "system"}
"""Roles of the API that the conversation knows by another name."""
_TEXT_PARTS = ("input_text", "output_text", "text")


def decode(text: str | bytes, limits: EventLimits, start: type[ClientEvent] = SessionStart) -> ClientEvent:
    """Decode one client event. start: model of `session.start`. Raise RequestError, never anything else."""
    check_length(text, limits)
    document = parse_event(text)
    try:
        check_event(document, text, limits, (AUDIO_APPEND, FIXTURE_PLAY))
        model = _model(document)
        return (start if model is SessionStart else model).model_validate(document)
    except ValidationError as error:
        mistake = from_validation(error, document)
    except RequestError as error:
        mistake = error
    mistake.client_event_id = named_id(document)
    raise mistake


def to_history_item(wire: dict[str, Any], item_id: str) -> Item:
    """Return the history item of a `response.item.create`. Raise RequestError."""
    kind = wire.get("type", "message")
    try:
        if kind == "function_call_output":
            output = _OUTPUT.validate_python(wire)
            return ToolOutputItem(item_id, output.call_id, _joined(output.output))
        if kind == "message":
            message = _MESSAGE.validate_python(wire)
            role = _ROLES.get(message.role, message.role)
            return MessageItem(item_id, role, _message_text(message))  # type: ignore[arg-type]
    except ValidationError as error:
        raise from_validation(error, {"item": wire}, ("item",)) from error
    message_text = f"item.type is {shorten(kind)}; allowed: 'function_call_output', 'message'"
    raise RequestError("invalid_value", message_text, "item.type")


def _model(document: dict[str, Any]) -> type[ClientEvent]:
    name = document.get("type")
    if name is None:
        raise RequestError("missing_required_parameter", "type is missing", "type")
    if isinstance(name, str) and name in REFUSED_EVENTS:
        raise RequestError("not_supported", f"{name}: {REFUSED_EVENTS[name]}", "type")
    model = CLIENT_EVENTS.get(name) if isinstance(name, str) else None
    if model is None:
        message = f"type is {shorten(name)}; allowed: {', '.join(CLIENT_EVENTS)}"
        raise RequestError("invalid_value", message, "type")
    return model


def _joined(output: Any) -> str:
    return output if isinstance(output, str) else " ".join(part.text for part in output)


def _message_text(message: AddedMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    texts: list[str] = []
    for index, part in enumerate(message.content):
        text = part.get("text")
        if part.get("type") not in _TEXT_PARTS or not isinstance(text, str):
            place = f"item.content[{index}]"
            raise RequestError(
                "invalid_value", f"{place} is no text; allowed: {', '.join(_TEXT_PARTS)}", place
            )
        texts.append(text)
    return " ".join(texts)
