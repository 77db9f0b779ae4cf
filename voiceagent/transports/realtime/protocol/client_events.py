"""The client events of the protocol, and one beyond it, as they come over the wire."""

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
    Temperature,
    ToolChoice,
    Voice,
)
from voiceagent.transports.realtime.protocol.transcription import AnySession

MAX_AUDIO_MS = 86_400_000
"""A day: no response has so much sound."""

MAX_PLAYOUT_MS = 600_000
"""Ten minutes: nobody waits so long for an answer."""

_EventId = Annotated[str, Field(max_length=512)]


class ClientEvent(Wire):
    """What all client events have."""

    type: str
    event_id: _EventId | None = None


class SessionUpdate(ClientEvent):
    """`session.update`"""

    session: AnySession


class AudioAppend(ClientEvent):
    """`input_audio_buffer.append`"""

    audio: str


class AudioCommit(ClientEvent):
    """`input_audio_buffer.commit`"""


class AudioClear(ClientEvent):
    """`input_audio_buffer.clear`"""


class OutputClear(ClientEvent):
    """`output_audio_buffer.clear`"""


class ItemCreate(ClientEvent):
    """`conversation.item.create`"""

    item: WireItem
    previous_item_id: ItemId | None = None


class ItemDelete(ClientEvent):
    """`conversation.item.delete`"""

    item_id: ItemId


class ItemRetrieve(ClientEvent):
    """`conversation.item.retrieve`"""

    item_id: ItemId


class ItemTruncate(ClientEvent):
    """`conversation.item.truncate`"""

    item_id: ItemId
    content_index: Literal[0]
    audio_end_ms: Annotated[int, Field(ge=0, le=MAX_AUDIO_MS)]


class ResponseOutput(Wire):
    """`response.audio.output`. The format is the call's: one call has one."""

    format: Format | None = None
    voice: Voice = None


class ResponseAudio(Wire):
    """`response.audio`"""

    output: ResponseOutput | None = None


class ResponseObject(Wire):
    """`response` of a `response.create`: where this one response departs from the call's settings."""

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
            dict[
                Annotated[str, Field(max_length=64)],
                Annotated[str, Field(max_length=512)],
            ],
            Field(max_length=16),
        ]
        | None
    ) = None
    reasoning: dict[str, object] | None = None
    prompt: Prompt = None


class ResponseCreate(ClientEvent):
    """`response.create`"""

    response: ResponseObject | None = None


class ResponseCancel(ClientEvent):
    """`response.cancel`"""

    response_id: ItemId | None = None


_Milliseconds = Annotated[float, Field(ge=0, le=MAX_PLAYOUT_MS)]


class PlayoutReport(ClientEvent):
    """`voiceagent.playout`, beyond the protocol: what the client's own end added to the wait of a turn."""

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
