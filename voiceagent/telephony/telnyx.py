"""Telnyx media streaming: JSON text with base64 sound; snake_case, and no stream id in what is sent. Pure.

https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket. The agent's sound
goes out in the caller's codec: `stream_bidirectional_mode` must be "rtp", `stream_bidirectional_codec` that
of the stream. Of L16 the documentation does not tell the byte order; it is taken for little-endian.
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
    ("PCMU", 8_000): AudioFormat.PCMU,
    ("PCMA", 8_000): AudioFormat.PCMA,
    ("L16", 8_000): AudioFormat.PCM_8K,
    ("L16", 16_000): AudioFormat.PCM_16K,
    ("L16", 24_000): AudioFormat.PCM_24K,
}


class TelnyxCodec:
    """One stream."""

    def __init__(self) -> None:
        self._stream_id: str | None = None
        self._format = AudioFormat.PCMU

    def decode(self, message: Message) -> LineEvent | None:
        """What Telnyx says. Raises LineError."""
        document = fields.parse(message)
        event = document.get("event")
        match event:
            case "media":
                fields.of_stream(document, "stream_id", self._stream_id)
                return _media(fields.table(document, "media"))
            case "connected":
                return None
            case "start":
                return self._start(document)
            case "dtmf":
                fields.of_stream(document, "stream_id", self._stream_id)
                return KeyPressed(fields.digit(fields.table(document, "dtmf")))
            case "mark":
                fields.of_stream(document, "stream_id", self._stream_id)
                return MarkPlayed(fields.text(fields.table(document, "mark"), "name"))
            case "stop":
                fields.of_stream(document, "stream_id", self._stream_id)
                return Stopped("Telnyx stopped the stream")
            case "error":
                raise LineError(f"Telnyx reports an error: {shorten(document.get('payload'))}")
            case str():
                return Unknown(event)
            case _:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> str:
        """The agent's sound, without a header, 20 ms or more a message."""
        sound = b2a_base64(encode_sound(frame, self._format), newline=False).decode("ascii")
        return f'{{"event":"media","media":{{"payload":"{sound}"}}}}'

    def mark(self, name: str) -> str:
        """Telnyx returns a mark when what is before it was played, or dropped by a `clear`."""
        return json.dumps({"event": "mark", "mark": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Telnyx drops what it has queued."""
        return '{"event":"clear"}'

    def hang_up(self) -> None:
        """Telnyx hangs up by REST; a TeXML stream also when it ends."""

    def _start(self, document: dict[str, Any]) -> Started:
        if self._stream_id is not None:
            raise LineError("a second start came; a stream has one")
        start = fields.table(document, "start")
        media = fields.table(start, "media_format")
        kind = fields.text(media, "encoding"), fields.number(media, "sample_rate")
        fields.expect(kind, tuple(FORMATS), "start.media_format")
        self._format = FORMATS[kind]
        self._stream_id = fields.text(document, "stream_id")
        known = {name: start[name] for name in ("from", "to") if isinstance(start.get(name), str)}
        given = fields.parameters(start.get("custom_parameters"), "start.custom_parameters")
        call_id = fields.text(start, "call_control_id")
        return Started(call_id, self._format, self._format, parameters={**known, **given})


def _media(media: dict[str, Any]) -> Media | None:
    if media.get("track", "inbound") != "inbound":
        return None  # what the caller hears: the agent itself
    return Media(fields.sound(media), fields.number(media, "chunk"))
