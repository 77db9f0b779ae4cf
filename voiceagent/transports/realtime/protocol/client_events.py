"""Client events of the protocol, and one extension, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from voiceagent.transports.realtime.protocol.errors import Wire
from voiceagent.transports.realtime.protocol.items import InputItem, ItemId, WireItem
from voiceagent.transports.realtime.protocol.session_object import (
    AnyTool,
    Format,
    OutputModalities,
    OutputTokens,
    Prompt,
    Reasoning,
    Temperature,
    ToolChoice,
    Voice,
)
from voiceagent.transports.realtime.protocol.transcription import AnySession

MAX_AUDIO_MS = 86_400_000
"""A day: longer than the audio of any response."""

MAX_PLAYOUT_MS = 600_000
"""Ten minutes: longer than any caller waits for an answer."""

MAX_EVENT_ID = 512
"""Longest id of a client's event."""
_EventId = Annotated[str, Field(max_length=MAX_EVENT_ID)]


class ClientEvent(Wire):
    """Fields of all client events."""

    type: str
    event_id: _EventId | None = None


class SessionUpdate(ClientEvent):
    """Event `session.update`."""

    session: AnySession


class AudioAppend(ClientEvent):
    """Event `input_audio_buffer.append`."""

    audio: str


class AudioCommit(ClientEvent):
    """Event `input_audio_buffer.commit`."""


class AudioClear(ClientEvent):
    """Event `input_audio_buffer.clear`."""


class OutputClear(ClientEvent):
    """Event `output_audio_buffer.clear`."""


class ItemCreate(ClientEvent):
    """Event `conversation.item.create`."""

    item: WireItem
    previous_item_id: ItemId | None = None


class ItemDelete(ClientEvent):
    """Event `conversation.item.delete`."""

    item_id: ItemId


class ItemRetrieve(ClientEvent):
    """Event `conversation.item.retrieve`."""

    item_id: ItemId


class ItemTruncate(ClientEvent):
    """Event `conversation.item.truncate`."""

    item_id: ItemId
    content_index: Literal[0]
    audio_end_ms: Annotated[int, Field(ge=0, le=MAX_AUDIO_MS)]


class ResponseOutput(Wire):
    """Field `response.audio.output`. The format must be the call's: a call has only one."""

    format: Format | None = None
    voice: Voice = None


class ResponseAudio(Wire):
    """Field `response.audio`."""

    output: ResponseOutput | None = None


class ResponseObject(Wire):
    """Field `response` of a `response.create`: overrides of the call's settings for one response."""

    instructions: str | None = None
    output_modalities: OutputModalities = None
    audio: ResponseAudio | None = None
    tools: Annotated[list[AnyTool], Field(fail_fast=True)] | None = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: OutputTokens = None
    temperature: Temperature | None = None
    conversation: Literal["auto", "none"] | None = None
    input: Annotated[list[InputItem], Field(fail_fast=True)] | None = None
    metadata: (
        Annotated[
            dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]],
            Field(max_length=16),
        ]
        | None
    ) = None
    reasoning: Reasoning | None = None
    prompt: Prompt = None


class ResponseCreate(ClientEvent):
    """Event `response.create`."""

    response: ResponseObject | None = None


class ResponseCancel(ClientEvent):
    """Event `response.cancel`."""

    response_id: ItemId | None = None


_Milliseconds = Annotated[float, Field(ge=0, le=MAX_PLAYOUT_MS)]


class PlayoutReport(ClientEvent):
    """Event `voiceagent.playout`, an extension: the delay that the client added to a turn's response time."""

    turn_id: ItemId
    line_ms: _Milliseconds | None = None
    jitter_ms: _Milliseconds | None = None
    output_ms: _Milliseconds | None = None
    heard_ms: _Milliseconds | None = None


CLIENT_EVENTS: dict[str, type[ClientEvent]] = {
    "session.update": SessionUpdate,
    "input_audio_buffer.append": AudioAppend,
    "input_audio_buffer.commit": AudioCommit,
    "input_audio_buffer.clear": AudioClear,
    "output_audio_buffer.clear": OutputClear,
    "conversation.item.create": ItemCreate,
    "conversation.item.delete": ItemDelete,
    "conversation.item.retrieve": ItemRetrieve,
    "conversation.item.truncate": ItemTruncate,
    "response.create": ResponseCreate,
    "response.cancel": ResponseCancel,
    "voiceagent.playout": PlayoutReport,
}
