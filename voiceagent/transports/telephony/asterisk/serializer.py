"""Asterisk's chan_websocket: sound in binary messages, commands and events in text. Pure.

https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket. The text is JSON where the channel was
dialled with `f(json)`, and then has marks; else it is plain.
"""

from __future__ import annotations

import json
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

FORMATS = {
    "ulaw": AudioFormat.PCMU,
    "alaw": AudioFormat.PCMA,
    "slin": AudioFormat.PCM_8K,
    "slin16": AudioFormat.PCM_16K,
    "slin24": AudioFormat.PCM_24K,
}
_UNMINDED = ("MEDIA_XON", "MEDIA_XOFF", "MEDIA_BUFFERING_COMPLETED", "QUEUE_DRAINED", "STATUS")
"""Sound is sent at the pace of real time, so that Asterisk's queue of 20 s never fills."""


class AsteriskCodec:
    """One channel. Messages of 20 ms are whole frames to Asterisk: nothing needs its buffering."""

    def __init__(self) -> None:
        self._format: AudioFormat | None = None
        self._json = False

    def decode(self, message: Message) -> LineEvent | None:
        """What Asterisk says. Raises LineError."""
        if isinstance(message, bytes):
            if self._format is None:
                raise LineError("sound came before MEDIA_START")
            return Media(message)
        document = fields.parse(message) if message.lstrip().startswith("{") else _plain(message)
        event = document.get("event")
        if event == "MEDIA_START":
            self._json = message.lstrip().startswith("{")
            return self._start(document)
        if self._format is None:
            raise LineError(f"{shorten(event)} came before MEDIA_START")
        match event:
            case "DTMF_END":
                return KeyPressed(fields.digit(document))
            case "MEDIA_MARK_PROCESSED":
                return MarkPlayed(fields.text(document, "correlation_id"))
            case str() if event in _UNMINDED:
                return None
            case str():
                return Unknown(event)
            case _:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> bytes:
        """The agent's sound."""
        assert self._format is not None  # nothing is played before the start
        return encode_sound(frame, self._format)

    def mark(self, name: str) -> str | None:
        """Asterisk tells when a mark comes to the front of its queue; the plain protocol has none."""
        return self._command("MARK_MEDIA", correlation_id=name) if self._json else None

    def clear(self) -> str:
        """Asterisk drops what it has queued."""
        return self._command("FLUSH_MEDIA")

    def hang_up(self) -> str:
        """Asterisk hangs up the channel, and closes the connection."""
        return self._command("HANGUP")

    def _start(self, document: dict[str, Any]) -> Started:
        if self._format is not None:
            raise LineError("a second MEDIA_START came; a channel has one")
        kind = fields.text(document, "format")
        fields.expect(kind, tuple(FORMATS), "format")
        self._format = FORMATS[kind]
        return Started(fields.text(document, "channel"), self._format, self._format)

    def _command(self, command: str, **parameters: str) -> str:
        if not self._json:
            return command
        return json.dumps({"command": command, **parameters}, separators=(",", ":"))


def _plain(message: str) -> dict[str, Any]:
    """An event in plain text, `EVENT name:value name:value`, as the JSON would have it."""
    event, *pairs = message.split()[:32] or [""]
    values = {name: value for name, _, value in (pair.partition(":") for pair in pairs)}
    return {"event": event, **values}
