"""Twilio Media Streams: JSON text with base64 mu-law at 8 kHz; the caller's messages hold 20 ms.

https://www.twilio.com/docs/voice/media-streams/websocket-messages
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from voiceagent.transports.telephony.stream.json_messages import Parameters, Text
from voiceagent.transports.telephony.stream.json_stream import (
    ConnectedMessage,
    DigitMessage,
    JsonStream,
    MarkMessage,
    MediaMessage,
    OfStream,
    StopMessage,
)
from voiceagent.transports.telephony.stream.serializer import Started


class _MediaFormat(TypedDict):
    encoding: Literal["audio/x-mulaw"]
    sampleRate: Literal[8000, "8000"]
    channels: NotRequired[Literal[1, "1"]]


class _Start(TypedDict):
    streamSid: Text
    callSid: Text
    accountSid: Text
    mediaFormat: _MediaFormat
    customParameters: NotRequired[Parameters | None]


class _StartMessage(OfStream):
    event: Literal["start"]
    start: _Start


_Message = _StartMessage | MediaMessage | DigitMessage | MarkMessage | StopMessage | ConnectedMessage


class TwilioSerializer(JsonStream):
    """Serializer of one stream. All messages carry the stream id of `start`.

    Twilio plays messages in order, whatever their length.
    """

    provider = "Twilio"
    id_field = "streamSid"
    messages: ClassVar[TypeAdapter[Any]] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])

    def mark(self, name: str) -> str:
        """Return a mark. Twilio returns it when it is reached, or when `clear` drops it."""
        return self._message("mark", mark={"name": name})

    def clear(self) -> str:
        """Return the command that clears Twilio's buffer."""
        return self._message("clear")

    def hang_up(self) -> None:
        """Return None: Twilio hangs up by REST, or at the end of the stream if no TwiML verbs follow."""

    def _start(self, said: _StartMessage) -> Started:
        start = said["start"]
        self._stream_id = start["streamSid"]
        self._of_stream(said)
        self._media_head = self._message("media", media={"payload": ""}).removesuffix('"}}')
        return Started(
            call_id=start["callSid"],
            input_format=self._format,
            output_format=self._format,
            account_id=start["accountSid"],
            parameters=start.get("customParameters") or {},
        )

    def _message(self, event: str, **content: object) -> str:
        return json.dumps({"event": event, "streamSid": self._stream_id, **content}, separators=(",", ":"))
