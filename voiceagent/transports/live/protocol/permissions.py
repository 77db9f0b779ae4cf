"""Permissions of an untrusted frontend: the events that a WebRTC data channel may carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.transports.realtime.protocol.errors import RequestError, Wire
from voiceagent.validation.errors import shorten

RESPONSE_EVENT = "response.event"
_Name = Annotated[str, Field(min_length=1, max_length=128)]
_MAX_NAMES = 256


class ServerEventSelector(Wire):
    """A type of server events. response_event: the inner type of a `response.event`."""

    type: _Name
    response_event: _Name | None = None

    @model_validator(mode="after")
    def _response_event_is_given_where_it_selects(self) -> Self:
        if (self.type == RESPONSE_EVENT) != (self.response_event is not None):
            reason = f"response_event is required for type {RESPONSE_EVENT!r}, and only allowed there"
            raise PydanticCustomError("invalid_selector", "{reason}", {"reason": reason})
        return self


def _unless_all(given: Any) -> Any:
    return None if given == "all" else given


_Names = Annotated[list[_Name], Field(max_length=_MAX_NAMES, fail_fast=True)]
_Selectors = Annotated[list[ServerEventSelector], Field(max_length=_MAX_NAMES, fail_fast=True)]


class DataChannelConfig(Wire):
    """Event types that the data channel may send and receive. Omitted or "all": all."""

    allowed_client_events: Annotated[_Names | None, BeforeValidator(_unless_all)] = None
    allowed_server_events: Annotated[_Selectors | None, BeforeValidator(_unless_all)] = None


class ClientConfig(Wire):
    """Field `session.client`: capabilities of a frontend. Sidebands are not restricted."""

    data_channel: DataChannelConfig


class Permissions:
    """Permissions of one data channel, by its configuration; None allows everything."""

    def __init__(self, config: ClientConfig | None) -> None:
        channel = config.data_channel if config is not None else DataChannelConfig()
        client, server = channel.allowed_client_events, channel.allowed_server_events
        self._client = None if client is None else frozenset(client)
        self._server: frozenset[tuple[str, str | None]] | None = None
        if server is not None:
            self._server = frozenset((one.type, one.response_event) for one in server)
        self.restricted = self._client is not None or self._server is not None

    def check_client_event(self, kind: str) -> None:
        """Raise RequestError if the client may not send events of this type."""
        if self._client is not None and kind not in self._client:
            allowed = ", ".join(sorted(self._client)) or "none"
            message = f"this data channel may not send {shorten(kind)}; allowed: {allowed}"
            raise RequestError("event_not_allowed", message, "type")

    def allows_server_event(self, event: Mapping[str, Any]) -> bool:
        """Return True if the client may receive this event."""
        if self._server is None:
            return True
        kind = event["type"]
        inner = event["event"]["type"] if kind == RESPONSE_EVENT else None
        return (kind, inner) in self._server

    def describe(self) -> str:
        """Return the permissions in words, for the client."""
        sends = "all" if self._client is None else ", ".join(sorted(self._client)) or "none"
        receives = "all"
        if self._server is not None:
            receives = ", ".join(sorted(inner or kind for kind, inner in self._server)) or "none"
        return f"client events: {sends}; server events: {receives}"
