"""Telnyx media streaming: JSON text with base64 sound; snake_case, and no stream id in what is sent. Pure.

https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket. The agent's sound
goes out in the caller's codec: `stream_bidirectional_mode` must be "rtp", `stream_bidirectional_codec` that
of the stream. Of L16 the documentation does not tell the byte order: see `byte_order`.
"""

from __future__ import annotations

import json
from typing import Any

from audio.pcm import AudioFormat
from voiceagent.transports.realtime.errors import shorten
from voiceagent.transports.telephony import fields
from voiceagent.transports.telephony.json_stream import JsonStream
from voiceagent.transports.telephony.serializer import LineError, LineEvent, Started

FORMATS = {
    ("PCMU", 8_000): AudioFormat.PCMU,
    ("PCMA", 8_000): AudioFormat.PCMA,
    ("L16", 8_000): AudioFormat.PCM_8K,
    ("L16", 16_000): AudioFormat.PCM_16K,
    ("L16", 24_000): AudioFormat.PCM_24K,
}


class TelnyxCodec(JsonStream):
    """One stream. Its sound goes out without a header, 20 ms or more a message."""

    provider = "Telnyx"
    id_field = "stream_id"

    def mark(self, name: str) -> str:
        """Telnyx returns a mark when what is before it was played, or dropped by a `clear`."""
        return json.dumps({"event": "mark", "mark": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Telnyx drops what it has queued."""
        return '{"event":"clear"}'

    def hang_up(self) -> None:
        """Telnyx hangs up by REST; a TeXML stream also when it ends."""

    def _start(self, document: dict[str, Any]) -> Started:
        start = fields.table(document, "start")
        media = fields.table(start, "media_format")
        kind = fields.text(media, "encoding"), fields.number(media, "sample_rate")
        fields.expect(kind, tuple(FORMATS), "start.media_format")
        self._format = FORMATS[kind]
        self._stream_id = fields.text(document, "stream_id")
        self._media_head = '{"event":"media","media":{"payload":"'
        known = {name: start[name] for name in ("from", "to") if isinstance(start.get(name), str)}
        given = fields.parameters(start.get("custom_parameters"), "start.custom_parameters")
        call_id = fields.text(start, "call_control_id")
        return Started(call_id, self._format, self._format, parameters={**known, **given})

    def _other(self, event: str, document: dict[str, Any]) -> LineEvent | None:
        if event == "error":
            raise LineError(f"Telnyx reports an error: {shorten(document.get('payload'))}")
        return super()._other(event, document)
