"""What the media streams of Twilio, Telnyx and Plivo share: JSON with base64 sound and a stream id. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from binascii import b2a_base64
from dataclasses import replace
from typing import Any, ClassVar

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.realtime.errors import shorten
from voiceagent.transports.telephony import fields
from voiceagent.transports.telephony.byte_order import ByteOrder
from voiceagent.transports.telephony.serializer import (
    KeyPressed,
    LineError,
    LineEvent,
    MarkPlayed,
    Media,
    Message,
    Started,
    Stopped,
    Unknown,
)

FRAME_S = 0.04
"""The agent's sound in a message. These providers take any length and play on time themselves, and most of
what a message costs is its way through the socket.
"""


class JsonStream(ABC):
    """One stream. provider: as people call it. id_field: where a message carries the id of its stream."""

    provider: ClassVar[str]
    id_field: ClassVar[str]

    def __init__(self) -> None:
        self._stream_id: str | None = None
        self._format = AudioFormat.PCMU
        self._byte_order = ByteOrder()
        self._media_head = ""  # a message with sound, up to the sound

    def decode(self, message: Message) -> LineEvent | None:
        """What the provider says. Raises LineError."""
        document = fields.parse(message)
        match document.get("event"):
            case "media":
                self._of_stream(document)
                return self._media(fields.table(document, "media"))
            case "start":
                if self._stream_id is not None:
                    raise LineError("a second start came; a stream has one")
                return replace(self._start(document), frame_s=FRAME_S)
            case "dtmf":
                self._of_stream(document)
                return KeyPressed(fields.digit(fields.table(document, "dtmf")))
            case "mark":
                self._of_stream(document)
                return MarkPlayed(fields.text(fields.table(document, "mark"), "name"))
            case "stop":
                self._of_stream(document)
                return Stopped(f"{self.provider} stopped the stream")
            case "connected":
                return None
            case str() as event:
                return self._other(event, document)
            case event:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> str:
        """The agent's sound, in the format of the stream."""
        sound = encode_sound(frame, self._format)
        if self._format.bytes_per_sample == 2:
            sound = self._byte_order.to_send(sound)
        return f'{self._media_head}{b2a_base64(sound, newline=False).decode("ascii")}"}}}}'

    @abstractmethod
    def _start(self, document: dict[str, Any]) -> Started:
        """The stream's beginning: sets its id, its format and the head of its sound. Raises LineError."""

    def _media(self, media: dict[str, Any]) -> Media | None:
        if media.get("track", "inbound") != "inbound":
            return None  # what the caller hears: the agent itself
        return Media(self._sound(media), fields.number(media, "chunk"))

    def _sound(self, media: dict[str, Any]) -> bytes:
        """The caller's sound; linear PCM is little-endian. Raises LineError."""
        sound = fields.sound(media)
        return self._byte_order.received(sound) if self._format.bytes_per_sample == 2 else sound

    def _other(self, event: str, document: dict[str, Any]) -> LineEvent | None:
        """An event that the others do not have. Raises LineError."""
        return Unknown(event)

    def _of_stream(self, document: dict[str, Any]) -> None:
        fields.of_stream(document, self.id_field, self._stream_id)
