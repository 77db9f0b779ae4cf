"""Plivo audio streaming: JSON text with base64 audio; marks are called checkpoints.

   https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-guide. The byte order of
L16 is not documented: see `stream/arrival.ByteOrder`.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from pydantic import BeforeValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.stream.json_messages import Count, Parameters, Text, wrong
from voiceagent.transports.telephony.stream.json_stream import (
    ConnectedMessage,
    DigitMessage,
    JsonStream,
    MarkMessage,
    OfStream,
    StopMessage,
)
from voiceagent.transports.telephony.stream.serializer import MarkPlayed, PhoneEvent, Started

FORMATS = {
    ("audio/x-mulaw", 8_000): AudioFormat.PCMU,
    ("audio/x-l16", 8_000): AudioFormat.PCM_8K,
    ("audio/x-l16", 16_000): AudioFormat.PCM_16K,
}


def _pairs(headers: object) -> object:
    """Parse `extraHeaders` of the Stream element if they arrive as "name=value;name=value"."""
    if not isinstance(headers, str):
        return headers
    pairs = [pair.partition("=") for pair in headers.strip("{} ").replace(",", ";").split(";") if "=" in pair]
    return {name.strip(): value.strip() for name, _, value in pairs}


class _MediaFormat(TypedDict):
    encoding: Text
    sampleRate: Count


class _Start(TypedDict):
    callId: Text
    streamId: Text
    accountId: Text
    mediaFormat: _MediaFormat


class _StartMessage(TypedDict):
    event: Literal["start"]
    start: _Start
    extra_headers: NotRequired[Annotated[Parameters | None, BeforeValidator(_pairs)]]


class _MediaContent(TypedDict):
    payload: Text
    chunk: NotRequired[Count]
    track: NotRequired[str | None]


class _MediaMessage(OfStream):
    event: Literal["media"]
    media: _MediaContent


class _PlayedMessage(OfStream):
    event: Literal["playedStream"]
    name: Text


class _ClearedMessage(OfStream):
    event: Literal["clearedAudio"]


_Message = (
    _StartMessage
    | _MediaMessage
    | DigitMessage
    | MarkMessage
    | StopMessage
    | ConnectedMessage
    | _PlayedMessage
    | _ClearedMessage
)


class PlivoSerializer(JsonStream):
    """Serializer of one stream. Messages carry the stream id of `start`."""

    provider = "Plivo"
    id_field = "streamId"
    messages: ClassVar[TypeAdapter[Any]] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])

    def mark(self, name: str) -> str:
        """Return a checkpoint. Plivo reports when the audio before it was played, and nothing if it was
        cleared.
        """
        return self._message(event="checkpoint", name=name)

    def clear(self) -> str:
        """Return the command that clears Plivo's queue."""
        return self._message(event="clearAudio")

    def hang_up(self) -> None:
        """Return None: Plivo hangs up by REST, or at the stream's end unless its XML says `keepCallAlive`."""

    def _start(self, said: _StartMessage) -> Started:
        start = said["start"]
        kind = encoding, rate_hz = start["mediaFormat"]["encoding"], start["mediaFormat"]["sampleRate"]
        if kind not in FORMATS:
            raise wrong("start.mediaFormat", kind, ", ".join(map(str, FORMATS)))
        self._format = FORMATS[kind]
        self._stream_id = start["streamId"]
        content = {"contentType": encoding, "sampleRate": rate_hz, "payload": ""}
        self._media_head = self._message(event="playAudio", media=content).removesuffix('"}}')
        return Started(
            start["callId"],
            self._format,
            self._format,
            account_id=start["accountId"],
            parameters=said.get("extra_headers") or {},
        )

    def _other(self, said: _PlayedMessage | _ClearedMessage) -> PhoneEvent | None:
        if said["event"] == "clearedAudio":
            return None
        self._of_stream(said)
        return MarkPlayed(said["name"])

    def _message(self, **content: object) -> str:
        return json.dumps({"streamId": self._stream_id, **content}, separators=(",", ":"))
