"""Client events of the Live API, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from voiceagent.transports.live.protocol.session_object import SessionConfig, SessionUpdateConfig, TextPart
from voiceagent.transports.realtime.protocol.client_events import MAX_EVENT_ID
from voiceagent.transports.realtime.protocol.errors import Wire

MAX_APPEND_CHARACTERS = 4_000
"""Longest appended context. The API's limit is 500 tokens; no text of 500 tokens has more characters."""
AUDIO_APPEND = "session.input_audio.append"
FIXTURE_PLAY = "session.output_audio.fixture.play"

EventId = Annotated[str, Field(max_length=MAX_EVENT_ID)]
_CallId = Annotated[str, Field(min_length=1, max_length=128)]


class ClientEvent(Wire):
    """Fields of all client events."""

    type: str
    event_id: EventId | None = None


class SessionStart(ClientEvent):
    """Event `session.start`, the first on a connection."""

    session: SessionConfig


class SessionUpdate(ClientEvent):
    """Event `session.update`."""

    session: SessionUpdateConfig


class SessionClose(ClientEvent):
    """Event `session.close`."""


class AudioAppend(ClientEvent):
    """Event `session.input_audio.append`. audio: base64."""

    audio: str


class AudioMute(ClientEvent):
    """Event `session.input_audio.mute`."""


class AudioUnmute(ClientEvent):
    """Event `session.input_audio.unmute`."""


class FixturePlay(ClientEvent):
    """Event `session.output_audio.fixture.play`. audio: base64, see `to_clip`."""

    audio: str


class ContextAppend(ClientEvent):
    """Base of the events that append context. delegation_id: required, may be null."""

    content: Annotated[str, Field(min_length=1, max_length=MAX_APPEND_CHARACTERS)]
    delegation_id: str | None


class InstructionsAppend(ContextAppend):
    """Event `session.instructions.append`: instructions for the rest of the session."""


class ThinkingAppend(ContextAppend):
    """Event `session.thinking.append`: context that is not spoken."""


class CommentaryAppend(ContextAppend):
    """Event `session.commentary.append`: context that the agent says to the caller. Blanks are refused: they
    would end the wait for an answer, and leave the caller in silence.
    """

    content: Annotated[str, Field(min_length=1, max_length=MAX_APPEND_CHARACTERS, pattern=r"\S")]


class FunctionOutput(Wire):
    """The result of a function call of the backend."""

    type: Literal["function_call_output"]
    call_id: _CallId
    output: str | Annotated[list[TextPart], Field(max_length=128, fail_fast=True)]
    id: str | None = None
    status: Literal["in_progress", "completed", "incomplete"] | None = None


class AddedMessage(Wire):
    """A message for the backend's conversation, in either form of the Responses API."""

    type: Literal["message"] = "message"
    role: Literal["user", "system", "developer", "assistant"]
    content: str | Annotated[list[dict[str, Any]], Field(max_length=128, fail_fast=True)]
    id: str | None = None
    status: Literal["in_progress", "completed", "incomplete"] | None = None
    phase: str | None = None


class ResponseItemCreate(ClientEvent):
    """Event `response.item.create`. item: a message's type may be missing."""

    item: dict[str, Any]


class ResponseCreate(ClientEvent):
    """Event `response.create`."""


CLIENT_EVENTS: dict[str, type[ClientEvent]] = {
    "session.start": SessionStart,
    "session.update": SessionUpdate,
    "session.close": SessionClose,
    AUDIO_APPEND: AudioAppend,
    "session.input_audio.mute": AudioMute,
    "session.input_audio.unmute": AudioUnmute,
    FIXTURE_PLAY: FixturePlay,
    "session.instructions.append": InstructionsAppend,
    "session.thinking.append": ThinkingAppend,
    "session.commentary.append": CommentaryAppend,
    "response.item.create": ResponseItemCreate,
    "response.create": ResponseCreate,
}
"""Models of the events that are carried out, by type."""

_NO_DECISIONS = "there is no Decisions API here; use the delegation 'client' or 'responses'"
REFUSED_EVENTS = {
    "decision.create": _NO_DECISIONS,
    "decision.item.create": _NO_DECISIONS,
    "decision.item.delete": _NO_DECISIONS,
    "transport.dtmf.send": "this is not a SIP call",
}
"""Events of the API that this server refuses, with the reason."""
