"""Base of the serializers of Twilio, Telnyx and Plivo: JSON with base64 audio and a stream id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NotRequired

import msgspec
from pybase64 import b64decode, b64encode_as_string
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.telephony.stream.arrival import ByteOrder
from voiceagent.transports.telephony.stream.json_messages import (
    Count,
    Digit,
    Text,
    read_sound,
    read_text,
    wrong,
)
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Stopped,
    Unknown,
)

MAX_DIGITS = 19
"""Longest number of a message."""


class _Sound(msgspec.Struct):
    payload: str
    chunk: str
    track: str = "inbound"


class _MediaMessage(msgspec.Struct, tag_field="event", tag="media"):
    media: _Sound
    streamSid: str = ""
    stream_id: str = ""
    streamId: str = ""


# These messages come 50 times a second in each call. msgspec takes a quarter of pydantic's time, but its
# errors do not name what is allowed: all other messages, mistakes included, are left to `read_text`.
_decode = msgspec.json.Decoder(_MediaMessage).decode


def plain_media(message: Message, id_field: str, stream_id: str) -> Media | None:
    """Return the caller's sound in a plain message of this stream; None for any other message.

    id_field: where a message carries the id of its stream.
    """
    if not isinstance(message, str):
        return None
    try:
        said = _decode(message)
        sound = said.media
        number = sound.chunk
        is_number = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS
        if not is_number or sound.track != "inbound" or getattr(said, id_field) != stream_id:
            return None
        payload = b64decode(sound.payload, None, True)  # by position: see `base64_text`
    except (msgspec.MsgspecError, ValueError):
        return None
    return Media(payload, int(number)) if payload else None


FRAME_S = 0.06
"""Agent audio per message. These providers accept any length and pace playout themselves; most of the cost of
a message is the socket write. With longer messages a held agent would fall silent later: what was sent is
dropped only by an interruption.
"""


class OfStream(TypedDict, total=False):
    """A message with a stream id, under the provider's name for it."""

    streamSid: str
    stream_id: str
    streamId: str


class MediaContent(TypedDict):
    """Base64 audio and its sequence number. track: "inbound" for the caller's."""

    payload: str
    chunk: Count
    track: NotRequired[str | None]


class DigitContent(TypedDict):
    """A keypad key."""

    digit: Digit


class MarkContent(TypedDict):
    """A mark's name."""

    name: Text


class MediaMessage(OfStream):
    """Audio of the caller or the agent."""

    event: Literal["media"]
    media: MediaContent


class DigitMessage(OfStream):
    """A keypress of the caller."""

    event: Literal["dtmf"]
    dtmf: DigitContent


class MarkMessage(OfStream):
    """A mark that was reached."""

    event: Literal["mark"]
    mark: MarkContent


class StopMessage(OfStream):
    """End of the stream."""

    event: Literal["stop"]


class ConnectedMessage(TypedDict):
    """First message: the protocol and its version."""

    event: Literal["connected"]


_BEFORE_START = frozenset({"start", "stop", "error"})
"""Messages with a meaning before `start`. Others are dropped: providers' components do not start in step."""


class JsonStream(ABC):
    """Serializer of one stream.

       provider: its display name. id_field: message field with the stream id. messages: the provider's
    messages: those above, its `start` and its own.
    """

    provider: ClassVar[str]
    id_field: ClassVar[str]
    messages: ClassVar[TypeAdapter[Any]]

    def __init__(self) -> None:
        self._stream_id: str | None = None
        self._format = AudioFormat.PCMU
        self._byte_order = ByteOrder()
        self._media_head = ""  # an audio message up to the audio

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message; None before `start`, except for an end. Raises ProtocolError."""
        if self._stream_id is not None and self._format.bytes_per_sample == 1:
            media = plain_media(message, self.id_field, self._stream_id)
            if media is not None:  # nearly always
                return media
        if self._stream_id is None and isinstance(message, bytes):
            return None
        said = read_text(self.messages, message)
        if isinstance(said, Unknown):
            return said
        if self._stream_id is None and said["event"] not in _BEFORE_START:
            return None
        match said["event"]:
            case "media":
                self._of_stream(said)
                return self._media(said["media"])
            case "start":
                if self._stream_id is not None:
                    raise ProtocolError("a second start came; a stream has one")
                return replace(self._start(said), frame_s=FRAME_S)
            case "dtmf":
                self._of_stream(said)
                return KeyPressed(said["dtmf"]["digit"])
            case "mark":
                self._of_stream(said)
                return MarkPlayed(said["mark"]["name"])
            case "stop":
                if self._stream_id is not None:
                    self._of_stream(said)
                return Stopped(f"{self.provider} stopped the stream")
            case "connected":
                return None
            case _:
                return self._other(said)

    def media(self, frame: Samples) -> str:
        """Return a frame of the agent's audio as a message, in the format of the stream."""
        sound = encode_sound(frame, self._format)
        if self._format.bytes_per_sample == 2:
            sound = self._byte_order.to_send(sound)
        return f'{self._media_head}{b64encode_as_string(sound)}"}}}}'

    @abstractmethod
    def _start(self, said: Any) -> Started:
        """Handle `start`: set the stream's id, format and media head. Raise ProtocolError."""

    def _other(self, said: Any) -> PhoneEvent | None:
        """Handle a message that only this provider has. Raise ProtocolError."""
        raise AssertionError(said)  # a message of `messages` without a handler

    def _media(self, media: MediaContent) -> Media | None:
        if media.get("track", "inbound") != "inbound":
            return None  # the agent's own audio
        sound = read_sound(media["payload"], "media.payload")
        if self._format.bytes_per_sample == 2:
            sound = self._byte_order.received(sound)
        return Media(sound, media.get("chunk"))

    def _of_stream(self, said: Mapping[str, object]) -> None:
        """Raise ProtocolError if a message belongs to another stream."""
        if said.get(self.id_field) != self._stream_id:
            raise wrong(self.id_field, said.get(self.id_field), f"the stream's own, {self._stream_id}")
