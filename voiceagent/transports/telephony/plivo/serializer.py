"""Plivo audio streaming: JSON text with base64 sound; marks are checkpoints. Pure.

https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-guide. Of L16 it does not
tell the byte order: see `byte_order`.
"""

from __future__ import annotations

import json
from typing import Any

from audio.pcm import AudioFormat
from voiceagent.transports.telephony import fields
from voiceagent.transports.telephony.json_stream import JsonStream
from voiceagent.transports.telephony.serializer import LineEvent, MarkPlayed, Media, Started

FORMATS = {
    ("audio/x-mulaw", 8_000): AudioFormat.PCMU,
    ("audio/x-l16", 8_000): AudioFormat.PCM_8K,
    ("audio/x-l16", 16_000): AudioFormat.PCM_16K,
}


class PlivoCodec(JsonStream):
    """One stream. Its id is the one of `start`."""

    provider = "Plivo"
    id_field = "streamId"

    def mark(self, name: str) -> str:
        """Plivo tells that what is before a checkpoint was played; nothing, if it was cleared."""
        return self._message(event="checkpoint", name=name)

    def clear(self) -> str:
        """Plivo drops what it has queued."""
        return self._message(event="clearAudio")

    def hang_up(self) -> None:
        """Plivo hangs up by REST, or when the stream ends, unless its XML says `keepCallAlive`."""

    def _start(self, document: dict[str, Any]) -> Started:
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

    def _media(self, media: dict[str, Any]) -> Media | None:
        if "chunk" in media:
            return super()._media(media)
        return Media(self._sound(media)) if media.get("track", "inbound") == "inbound" else None

    def _other(self, event: str, document: dict[str, Any]) -> LineEvent | None:
        match event:
            case "playedStream":
                self._of_stream(document)
                return MarkPlayed(fields.text(document, "name"))
            case "clearedAudio":
                return None
            case _:
                return super()._other(event, document)

    def _message(self, **content: object) -> str:
        return json.dumps({"streamId": self._stream_id, **content}, separators=(",", ":"))


def _extra_headers(headers: object) -> dict[str, str]:
    """The `extraHeaders` of the Stream element, as "name=value;name=value" or as an object."""
    if not isinstance(headers, str):
        return fields.parameters(headers, "extra_headers")
    pairs = [pair.partition("=") for pair in headers.strip("{} ").replace(",", ";").split(";") if "=" in pair]
    return fields.parameters({name.strip(): value.strip() for name, _, value in pairs}, "extra_headers")
