"""Proves events against the models of the `openai` package, more strictly than its clients do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from openai.types.realtime import (
    RealtimeClientEvent,
    RealtimeServerEvent,
    RealtimeSessionCreateResponse,
    RealtimeTranscriptionSessionCreateResponse,
)
from pydantic import BaseModel, Field, TypeAdapter
from wire_shape import check_shape

SERVER_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[RealtimeServerEvent, Field(discriminator="type")])
CLIENT_EVENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)

SESSIONS: dict[str, type[BaseModel]] = {
    "realtime": RealtimeSessionCreateResponse,
    "transcription": RealtimeTranscriptionSessionCreateResponse,
}
"""The type of each session as the server shows it."""
EAGERNESS = "audio.input.turn_detection.eagerness"
"""Transcription sessions: the package has this field in requests, but not in the session shown."""
EXTENSION = "voiceagent"
"""The field of the session by which a client asks for more than the protocol; shown only to those."""
SESSION_EXTRAS = {"session.id", "session.object", "session.expires_at", f"session.{EXTENSION}"}
"""OpenAI sends all but the last one too; the package has them in another endpoint's session."""


def proved(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event if it conforms to the protocol: all required fields, right types, no unknown fields,
    and the shape that OpenAI's server sends.
    """
    model = SERVER_EVENT.validate_json(json.dumps(event), strict=True)
    assert model.model_dump(mode="json", exclude_unset=True) == event
    assert set(unknown_fields(model, "")) <= SESSION_EXTRAS
    if "session" in event:
        shown = SESSIONS[event["session"]["type"]]
        session = shown.model_validate_json(json.dumps(event["session"]), strict=True)
        assert set(unknown_fields(session, "")) <= {EXTENSION, EAGERNESS}
    check_shape(event)
    return event


def client_event(**fields: Any) -> str:
    """Return the JSON text of a client event, if the package's clients could send it."""
    return sendable_event(CLIENT_EVENT, fields)


def sendable_event(events: TypeAdapter[Any], fields: dict[str, Any]) -> str:
    """Return the JSON text of an event, if it is one of these and has no unknown fields."""
    text = json.dumps(fields)
    model = events.validate_json(text)
    assert model.type == fields["type"]
    assert not set(unknown_fields(model, ""))
    return text


def unknown_fields(value: object, path: str) -> Iterator[str]:
    """Yield the paths of fields that the package's models do not have."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or ():
            yield f"{path}{name}"
        for name in type(value).model_fields:
            yield from unknown_fields(getattr(value, name), f"{path}{name}.")
    elif isinstance(value, list):
        for entry in value:
            yield from unknown_fields(entry, path)
