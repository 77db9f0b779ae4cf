"""Proves events of the Live API against the models of the `openai` package, strictly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, get_args

from openai.types.live import ClientEvent, ServerEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel, Field, TypeAdapter

SERVER_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ServerEvent, Field(discriminator="type")])
CLIENT_EVENT: TypeAdapter[Any] = TypeAdapter(ClientEvent)
RESPONSE_EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[ResponseStreamEvent, Field(discriminator="type")])

TOOLS = "session.delegation.responses.tools."
"""Versions of the package before 3.57 know only the type of most tools."""


def types_of(union: Any) -> set[str]:
    """Return the event types of a union of the package."""
    members = get_args(get_args(union)[0])
    return {get_args(member.model_fields["type"].annotation)[0] for member in members}


def proved(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event if it conforms: all required fields, right types, no unknown fields."""
    model = SERVER_EVENT.validate_json(json.dumps(event), strict=True)
    assert model.model_dump(mode="json", exclude_unset=True) == event
    unknown = set(_unknown_fields(model, ""))
    assert all(name.startswith(TOOLS) for name in unknown), unknown
    if event["type"] == "response.event":
        RESPONSE_EVENT.validate_json(json.dumps(event["event"]), strict=True)
    return event


def client_event(**fields: Any) -> str:
    """Return the JSON text of a client event, if the package's clients could send it."""
    text = json.dumps(fields)
    model = CLIENT_EVENT.validate_json(text)
    assert model.type == fields["type"]
    assert not set(_unknown_fields(model, ""))
    return text


def _unknown_fields(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (f"{path}{name}" for name in value.model_extra or ())
        for name in type(value).model_fields:
            yield from _unknown_fields(getattr(value, name), f"{path}{name}.")
    elif isinstance(value, list):
        for entry in value:
            yield from _unknown_fields(entry, path)
