"""Vonage Voice WebSockets: sound in binary messages of 20 ms, L16 little-endian; events as JSON text. Pure.

https://developer.vonage.com/en/voice/voice-api/concepts/websockets
"""

from __future__ import annotations

import json
import re
from typing import Any

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.realtime.errors import shorten
from voiceagent.transports.telephony import fields
from voiceagent.transports.telephony.serializer import (
    KeyPressed,
    LineError,
    LineEvent,
    MarkPlayed,
    Media,
    Message,
    Started,
    Unknown,
)

FORMATS = {8_000: AudioFormat.PCM_8K, 16_000: AudioFormat.PCM_16K, 24_000: AudioFormat.PCM_24K}
_CONTENT_TYPE = re.compile(r"audio/l16;\s*rate=(\d{1,6})")


class VonageCodec:
    """One call's connection; what Vonage was given as `headers` comes in its first message."""

    def __init__(self) -> None:
        self._format: AudioFormat | None = None

    def decode(self, message: Message) -> LineEvent | None:
        """What Vonage says. Raises LineError."""
        if isinstance(message, bytes):
            if self._format is None:
                raise LineError("sound came before websocket:connected")
            return Media(message)
        document = fields.parse(message)
        event = document.get("event")
        if event == "websocket:connected":
            return self._start(document)
        if self._format is None:
            raise LineError(f"{shorten(event)} came before websocket:connected")
        match event:
            case "websocket:dtmf":
                return KeyPressed(fields.digit(document))
            case "websocket:notify":
                return MarkPlayed(fields.text(fields.table(document, "payload"), "name"))
            case "websocket:cleared":
                return None
            case str():
                return Unknown(event)
            case _:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> bytes:
        """The agent's sound: one message of 20 ms, as Vonage wants it."""
        assert self._format is not None  # nothing is played before the start
        return encode_sound(frame, self._format)

    def mark(self, name: str) -> str:
        """Vonage notifies when what is before it was played."""
        return json.dumps({"action": "notify", "payload": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Vonage drops what it has buffered."""
        return '{"action":"clear"}'

    def hang_up(self) -> None:
        """Vonage goes on to the next action of the NCCO when the connection ends; without one it hangs up."""

    def _start(self, document: dict[str, Any]) -> Started:
        if self._format is not None:
            raise LineError("a second websocket:connected came; a connection has one")
        kind = fields.text(document, "content-type")
        found = _CONTENT_TYPE.fullmatch(kind)
        audio_format = FORMATS.get(int(found[1])) if found else None
        if audio_format is None:
            allowed = ", ".join(f"audio/l16;rate={rate_hz}" for rate_hz in FORMATS)
            raise LineError(f"content-type is {shorten(kind)}; allowed: {allowed}")
        self._format = audio_format
        headers = {name: value for name, value in document.items() if name not in ("event", "content-type")}
        given = headers.pop("headers", headers)
        parameters = fields.parameters(given, "headers")
        return Started(parameters.get("call_uuid", ""), audio_format, audio_format, parameters=parameters)
