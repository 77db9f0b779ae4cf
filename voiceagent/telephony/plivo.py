"""Plivo audio streaming: JSON text with base64 sound; marks are checkpoints. Pure.

https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-guide
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from typing import Any

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.realtime.errors import shorten
from voiceagent.telephony import fields
from voiceagent.telephony.line import (
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

FORMATS = {
    ("audio/x-mulaw", 8_000): AudioFormat.PCMU,
    ("audio/x-l16", 8_000): AudioFormat.PCM_8K,
    ("audio/x-l16", 16_000): AudioFormat.PCM_16K,
}


class PlivoCodec:
    """One stream. Its id is the one of `start`."""

    def __init__(self) -> None:
        self._stream_id: str | None = None
        self._format = AudioFormat.PCMU
        self._media_head = ""

    def decode(self, message: Message) -> LineEvent | None:
        """What Plivo says. Raises LineError."""
        document = fields.parse(message)
        event = document.get("event")
        match event:
            case "media":
                fields.of_stream(document, "streamId", self._stream_id)
                return _media(fields.table(document, "media"))
            case "start":
                return self._start(document)
            case "dtmf":
                fields.of_stream(document, "streamId", self._stream_id)
                return KeyPressed(fields.digit(fields.table(document, "dtmf")))
            case "playedStream":
                fields.of_stream(document, "streamId", self._stream_id)
                return MarkPlayed(fields.text(document, "name"))
            case "clearedAudio":
                return None
            case "stop":
                return Stopped("Plivo stopped the stream")
            case str():
                return Unknown(event)
            case _:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> str:
        """The agent's sound."""
        sound = b2a_base64(encode_sound(frame, self._format), newline=False).decode("ascii")
        return f'{self._media_head}{sound}"}}}}'

    def mark(self, name: str) -> str:
        """Plivo tells that what is before a checkpoint was played; nothing, if it was cleared."""
        return self._message(event="checkpoint", name=name)

    def clear(self) -> str:
        """Plivo drops what it has queued."""
        return self._message(event="clearAudio")

    def hang_up(self) -> None:
        """Plivo hangs up by REST, or when the stream ends, unless its XML says `keepCallAlive`."""

    def _start(self, document: dict[str, Any]) -> Started:
        if self._stream_id is not None:
            raise LineError("a second start came; a stream has one")
        start = fields.table(document, "start")
        media = fields.table(start, "mediaFormat")
        encoding, rate_hz = fields.text(media, "encoding"), fields.number(media, "sampleRate")
        fields.expect((encoding, rate_hz), tuple(FORMATS), "start.mediaFormat")
        self._format = FORMATS[(encoding, rate_hz)]
        self._stream_id = fields.text(start, "streamId")
        content = {"contentType": encoding, "sampleRate": rate_hz, "payload": ""}
        self._media_head = self._message(event="playAudio", media=content).removesuffix('"}}')
        return Started(
            fields.text(start, "callId"),
            self._format,
            self._format,
            account_id=fields.text(start, "accountId"),
            parameters=_extra_headers(document.get("extra_headers")),
        )

    def _message(self, **content: object) -> str:
        return json.dumps({"streamId": self._stream_id, **content}, separators=(",", ":"))


def _media(media: dict[str, Any]) -> Media | None:
    if media.get("track", "inbound") != "inbound":
        return None  # what the caller hears: the agent itself
    number = fields.number(media, "chunk") if "chunk" in media else None
    return Media(fields.sound(media), number)


def _extra_headers(headers: object) -> dict[str, str]:
    """The `extraHeaders` of the Stream element, as "name=value;name=value" or as an object."""
    if not isinstance(headers, str):
        return fields.parameters(headers, "extra_headers")
    pairs = [pair.partition("=") for pair in headers.strip("{} ").replace(",", ";").split(";") if "=" in pair]
    return fields.parameters({name.strip(): value.strip() for name, _, value in pairs}, "extra_headers")
