"""Vonage Voice WebSockets: audio in binary messages of 20 ms, L16 little-endian; events as JSON text.

https://developer.vonage.com/en/voice/voice-api/concepts/websockets
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.telephony.stream.json_messages import Digit, Parameters, Text, read_text, wrong
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Unknown,
)

FORMATS = {8_000: AudioFormat.PCM_8K, 16_000: AudioFormat.PCM_16K, 24_000: AudioFormat.PCM_24K}
_CONTENT_TYPE = re.compile(r"audio/l16;\s*rate=(\d{1,6})")


def _gathered(document: object) -> object:
    """Collect the NCCO's `headers`, which Vonage puts among the other fields, into one field. Their values
    are any JSON; those that are not text are kept as JSON text.
    """
    if not isinstance(document, dict):
        return document
    known = {name: document[name] for name in ("event", "content-type") if name in document}
    others = {name: value for name, value in document.items() if name not in known}
    headers = others.get("headers", others)
    if isinstance(headers, dict):
        headers = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in headers.items()
        }
    return {**known, "headers": headers}


_Connected = TypedDict(
    "_Connected",
    {
        "event": Literal["websocket:connected"],
        "content-type": Text,
        "headers": Parameters | None,
    },
)


class _DigitMessage(TypedDict):
    event: Literal["websocket:dtmf"]
    digit: Digit


class _Notified(TypedDict):
    name: Text


class _NotifyMessage(TypedDict):
    event: Literal["websocket:notify"]
    payload: _Notified


class _ClearedMessage(TypedDict):
    event: Literal["websocket:cleared"]


_Message = (
    Annotated[_Connected, BeforeValidator(_gathered)] | _DigitMessage | _NotifyMessage | _ClearedMessage
)
_MESSAGES: TypeAdapter[_Message] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])


class VonageSerializer:
    """Serializer of one connection. The NCCO's `headers` arrive in its first message."""

    def __init__(self) -> None:
        self._format: AudioFormat | None = None

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before Vonage's first one. Raise ProtocolError."""
        if isinstance(message, bytes):
            return None if self._format is None else Media(message)
        said = read_text(_MESSAGES, message)
        if not isinstance(said, Unknown) and said["event"] == "websocket:connected":
            return self._start(said)
        if self._format is None:
            return None
        if isinstance(said, Unknown):
            return said
        if said["event"] == "websocket:dtmf":
            return KeyPressed(said["digit"])
        if said["event"] == "websocket:notify":
            return MarkPlayed(said["payload"]["name"])
        return None

    def media(self, frame: Samples) -> bytes:
        """Return a frame of the agent's audio as a message. Vonage requires 20 ms per message."""
        assert self._format is not None  # the start comes before any audio
        return encode_sound(frame, self._format)

    def mark(self, name: str) -> str:
        """Return a mark. Vonage notifies when the audio before it was played."""
        return json.dumps({"action": "notify", "payload": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Return the command that clears Vonage's buffer."""
        return '{"action":"clear"}'

    def hang_up(self) -> None:
        """Return None: Vonage continues with the NCCO's next action when the connection ends, or hangs up."""

    def _start(self, said: _Connected) -> Started:
        if self._format is not None:
            raise ProtocolError("a second websocket:connected came; a connection has one")
        found = _CONTENT_TYPE.fullmatch(said["content-type"])
        audio_format = FORMATS.get(int(found[1])) if found else None
        if audio_format is None:
            allowed = ", ".join(f"audio/l16;rate={rate_hz}" for rate_hz in FORMATS)
            raise wrong("content-type", said["content-type"], allowed)
        self._format = audio_format
        parameters = said["headers"] or {}
        return Started(parameters.get("call_uuid", ""), audio_format, audio_format, parameters=parameters)
