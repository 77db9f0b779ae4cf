"""Twilio Media Streams: JSON text with base64 mu-law at 8 kHz, 20 ms a message. Pure.

https://www.twilio.com/docs/voice/media-streams/websocket-messages
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

FORMAT = AudioFormat.PCMU


class TwilioCodec:
    """One stream. Its id, which all messages carry, is the one of `start`."""

    def __init__(self) -> None:
        self._stream_id: str | None = None
        self._media_head = ""

    def decode(self, message: Message) -> LineEvent | None:
        """What Twilio says. Raises LineError."""
        document = fields.parse(message)
        event = document.get("event")
        if event == "media":
            fields.of_stream(document, "streamSid", self._stream_id)
            return _media(fields.table(document, "media"))
        match event:
            case "connected":
                return None
            case "start":
                return self._start(document)
            case "dtmf":
                fields.of_stream(document, "streamSid", self._stream_id)
                return KeyPressed(fields.digit(fields.table(document, "dtmf")))
            case "mark":
                fields.of_stream(document, "streamSid", self._stream_id)
                return MarkPlayed(fields.text(fields.table(document, "mark"), "name"))
            case "stop":
                fields.of_stream(document, "streamSid", self._stream_id)
                return Stopped("Twilio stopped the stream")
            case str():
                return Unknown(event)
            case _:
                raise LineError(f"event is {shorten(event)}; allowed: text")

    def media(self, frame: Samples) -> str:
        """The agent's sound. Twilio plays messages in order, whatever their length."""
        sound = b2a_base64(encode_sound(frame, FORMAT), newline=False).decode("ascii")
        return f'{self._media_head}{sound}"}}}}'

    def mark(self, name: str) -> str:
        """Twilio returns a mark when it is reached, or when a `clear` drops it."""
        return self._message("mark", mark={"name": name})

    def clear(self) -> str:
        """Twilio drops what it has buffered."""
        return self._message("clear")

    def hang_up(self) -> None:
        """Twilio hangs up by REST, or when the stream ends and the TwiML has no more verbs."""

    def _start(self, document: dict[str, Any]) -> Started:
        if self._stream_id is not None:
            raise LineError("a second start came; a stream has one")
        start = fields.table(document, "start")
        media = fields.table(start, "mediaFormat")
        fields.expect(media.get("encoding"), ("audio/x-mulaw",), "start.mediaFormat.encoding")
        fields.expect(media.get("sampleRate"), (8000, "8000"), "start.mediaFormat.sampleRate")
        fields.expect(media.get("channels", 1), (1, "1"), "start.mediaFormat.channels")
        self._stream_id = fields.text(start, "streamSid")
        fields.of_stream(document, "streamSid", self._stream_id)
        self._media_head = self._message("media", media={"payload": ""}).removesuffix('"}}')
        return Started(
            call_id=fields.text(start, "callSid"),
            input_format=FORMAT,
            output_format=FORMAT,
            account_id=fields.text(start, "accountSid"),
            parameters=fields.parameters(start.get("customParameters"), "start.customParameters"),
        )

    def _message(self, event: str, **content: object) -> str:
        return json.dumps({"event": event, "streamSid": self._stream_id, **content}, separators=(",", ":"))


def _media(media: dict[str, Any]) -> Media | None:
    if media.get("track", "inbound") != "inbound":
        return None  # what the caller hears: the agent itself
    return Media(fields.sound(media), fields.number(media, "chunk"))
