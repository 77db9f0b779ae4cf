"""Twilio Media Streams: JSON text with base64 mu-law at 8 kHz, 20 ms a message of the caller's. Pure.

https://www.twilio.com/docs/voice/media-streams/websocket-messages
"""

from __future__ import annotations

import json
from typing import Any

from voiceagent.transports.telephony import fields
from voiceagent.transports.telephony.json_stream import JsonStream
from voiceagent.transports.telephony.serializer import Started


class TwilioCodec(JsonStream):
    """One stream. Its id, which all messages carry, is the one of `start`.

    Twilio plays messages in order, whatever their length.
    """

    provider = "Twilio"
    id_field = "streamSid"

    def mark(self, name: str) -> str:
        """Twilio returns a mark when it is reached, or when a `clear` drops it."""
        return self._message("mark", mark={"name": name})

    def clear(self) -> str:
        """Twilio drops what it has buffered."""
        return self._message("clear")

    def hang_up(self) -> None:
        """Twilio hangs up by REST, or when the stream ends and the TwiML has no more verbs."""

    def _start(self, document: dict[str, Any]) -> Started:
        start = fields.table(document, "start")
        media = fields.table(start, "mediaFormat")
        fields.expect(media.get("encoding"), ("audio/x-mulaw",), "start.mediaFormat.encoding")
        fields.expect(media.get("sampleRate"), (8000, "8000"), "start.mediaFormat.sampleRate")
        fields.expect(media.get("channels", 1), (1, "1"), "start.mediaFormat.channels")
        self._stream_id = fields.text(start, "streamSid")
        self._of_stream(document)
        self._media_head = self._message("media", media={"payload": ""}).removesuffix('"}}')
        return Started(
            call_id=fields.text(start, "callSid"),
            input_format=self._format,
            output_format=self._format,
            account_id=fields.text(start, "accountSid"),
            parameters=fields.parameters(start.get("customParameters"), "start.customParameters"),
        )

    def _message(self, event: str, **content: object) -> str:
        return json.dumps({"event": event, "streamSid": self._stream_id, **content}, separators=(",", ":"))
