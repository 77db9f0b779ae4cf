"""Proves events of the Live API against the models of the `openai` package, strictly."""

from __future__ import annotations

import json
from typing import Annotated, Any, get_args

from openai.types.live import ClientEvent
from openai.types.live.connect_server_event import ConnectServerEvent
from openai.types.responses import ResponseStreamEvent
from openai_types import sendable_event, unknown_fields
from pydantic import Field, TypeAdapter

SERVER_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ConnectServerEvent, Field(discriminator="type")])
CLIENT_EVENT: TypeAdapter[Any] = TypeAdapter(ClientEvent)
RESPONSE_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ResponseStreamEvent, Field(discriminator="type")])


def types_of(union: Any) -> set[str]:
    """Return the event types of a union of the package."""
    members = get_args(get_args(union)[0])
    return {get_args(member.model_fields["type"].annotation)[0] for member in members}


def proved(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event if it conforms: all required fields, right types, no unknown fields."""
    model = SERVER_EVENT.validate_json(json.dumps(event), strict=True)
    assert model.model_dump(mode="json", exclude_unset=True) == event
    assert not set(unknown_fields(model, ""))
    if event["type"] == "response.event":
        RESPONSE_EVENT.validate_json(json.dumps(event["event"]), strict=True)
    return event


def client_event(**fields: Any) -> str:
    """Return the JSON text of a client event, if the package's clients could send it."""
    return sendable_event(CLIENT_EVENT, fields)
