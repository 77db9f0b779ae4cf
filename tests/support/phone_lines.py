"""Phone providers: how each says the same few things. For simulated callers."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import twilio_line

from audio.pcm import AudioFormat, Samples, encode

Message = str | bytes


@dataclass(frozen=True)
class Command:
    """A command of the server. seconds: of a piece of sound. name: of a mark."""

    kind: Literal["sound", "mark", "clear", "hang_up"]
    seconds: float = 0.0
    name: str = ""


class Provider:
    """A provider. returns_marks: when they were played. drops_sound: at a clear, what was not.

    unordered: whether the caller's sound may come out of order. call_id: the call's id in the stream's start;
    each leg of a transfer has its own.
    """

    format = AudioFormat.PCMU
    returns_marks = drops_sound = True
    unordered = False
    call_id = ""

    def start(self) -> list[Message]:
        raise NotImplementedError

    def sound(self, samples: Samples, number: int) -> Message:
        raise NotImplementedError

    def key(self, digit: str) -> Message:
        raise NotImplementedError

    def played(self, name: str) -> Message:
        raise NotImplementedError

    def read(self, message: Message) -> Command:
        raise NotImplementedError

    def seconds(self, payload: bytes) -> float:
        """Return the length of this sound in seconds."""
        return len(payload) / self.format.bytes_per_sample / self.format.rate_hz


class Twilio(Provider):
    call_id = twilio_line.CALL

    def start(self) -> list[Message]:
        return [twilio_line.connected(), twilio_line.start(callSid=self.call_id)]

    def sound(self, samples: Samples, number: int) -> Message:
        return twilio_line.media(encode(samples, self.format), number)

    def key(self, digit: str) -> Message:
        return twilio_line.dtmf(digit)

    def played(self, name: str) -> Message:
        return twilio_line.mark(name)

    def read(self, message: Message) -> Command:
        event = json.loads(message)
        assert event["streamSid"] == twilio_line.STREAM
        return _read(self, event)


class Telnyx(Provider):
    format = AudioFormat.PCMA
    unordered = True
    call_id = "v2:1"
    STREAM = str(uuid4())

    def start(self) -> list[Message]:
        media_format = {"encoding": "PCMA", "sample_rate": 8_000, "channels": 1}
        start = {"call_control_id": self.call_id, "from": "+1", "to": "+2", "media_format": media_format}
        return ['{"event":"connected","version":"1.0.0"}', self._event("start", start=start)]

    def sound(self, samples: Samples, number: int) -> Message:
        payload = base64.b64encode(encode(samples, self.format)).decode()
        return self._event("media", media={"track": "inbound", "chunk": str(number), "payload": payload})

    def key(self, digit: str) -> Message:
        return self._event("dtmf", dtmf={"digit": digit})

    def played(self, name: str) -> Message:
        return self._event("mark", mark={"name": name})

    def read(self, message: Message) -> Command:
        event = json.loads(message)
        assert "stream_id" not in event
        return _read(self, event)

    def _event(self, event: str, **fields: Any) -> str:
        return json.dumps({"event": event, "stream_id": self.STREAM, **fields})


class Plivo(Provider):
    format = AudioFormat.PCM_16K
    call_id = "c1"
    STREAM = str(uuid4())

    def start(self) -> list[Message]:
        media_format = {"encoding": "audio/x-l16", "sampleRate": 16_000}
        start = {
            "callId": self.call_id,
            "streamId": self.STREAM,
            "accountId": "MA1",
            "mediaFormat": media_format,
        }
        return [json.dumps({"event": "start", "start": start})]

    def sound(self, samples: Samples, number: int) -> Message:
        payload = base64.b64encode(encode(samples, self.format)).decode()
        return self._event("media", media={"track": "inbound", "chunk": number, "payload": payload})

    def key(self, digit: str) -> Message:
        return self._event("dtmf", dtmf={"digit": digit})

    def played(self, name: str) -> Message:
        return self._event("playedStream", name=name)

    def read(self, message: Message) -> Command:
        event = json.loads(message)
        assert event["streamId"] == self.STREAM
        match event["event"]:
            case "playAudio":
                assert event["media"]["contentType"] == "audio/x-l16"
                return Command("sound", self.seconds(base64.b64decode(event["media"]["payload"])))
            case "checkpoint":
                return Command("mark", name=event["name"])
            case kind:
                assert kind == "clearAudio"
                return Command("clear")

    def _event(self, event: str, **fields: Any) -> str:
        return json.dumps({"event": event, "streamId": self.STREAM, **fields})


class Vonage(Provider):
    format = AudioFormat.PCM_16K

    def start(self) -> list[Message]:
        start = {"event": "websocket:connected", "content-type": "audio/l16;rate=16000", "room": "12"}
        if self.call_id:  # only where the NCCO passes it on
            start["call_uuid"] = self.call_id
        return [json.dumps(start)]

    def sound(self, samples: Samples, number: int) -> Message:
        return encode(samples, self.format)

    def key(self, digit: str) -> Message:
        return json.dumps({"event": "websocket:dtmf", "digit": digit, "duration": 260})

    def played(self, name: str) -> Message:
        return json.dumps({"event": "websocket:notify", "payload": {"name": name}})

    def read(self, message: Message) -> Command:
        if isinstance(message, bytes):
            assert len(message) == 640  # Vonage takes messages of 20 ms and no others
            return Command("sound", self.seconds(message))
        event = json.loads(message)
        if event["action"] == "notify":
            return Command("mark", name=event["payload"]["name"])
        assert event == {"action": "clear"}
        return Command("clear")


class Asterisk(Provider):
    format = AudioFormat.PCM_24K

    def start(self) -> list[Message]:
        start = {"event": "MEDIA_START", "channel": "WebSocket/c1", "format": "slin24", "ptime": 20}
        return [json.dumps(start)]

    def sound(self, samples: Samples, number: int) -> Message:
        return encode(samples, self.format)

    def key(self, digit: str) -> Message:
        return json.dumps({"event": "DTMF_END", "digit": digit})

    def played(self, name: str) -> Message:
        return json.dumps({"event": "MEDIA_MARK_PROCESSED", "correlation_id": name})

    def read(self, message: Message) -> Command:
        if isinstance(message, bytes):
            return Command("sound", self.seconds(message))
        command = json.loads(message)
        match command["command"]:
            case "MARK_MEDIA":
                return Command("mark", name=command["correlation_id"])
            case "FLUSH_MEDIA":
                return Command("clear")
            case kind:
                assert kind == "HANGUP"
                return Command("hang_up")


class AudioSocket(Provider):
    format = AudioFormat.PCM_8K
    returns_marks = drops_sound = False

    def start(self) -> list[Message]:
        return [b"\x01\x00\x10" + uuid4().bytes]

    def sound(self, samples: Samples, number: int) -> Message:
        return b"\x10" + (2 * len(samples)).to_bytes(2, "big") + encode(samples, self.format)

    def key(self, digit: str) -> Message:
        return b"\x03\x00\x01" + digit.encode()

    def read(self, message: Message) -> Command:
        assert isinstance(message, bytes)
        if message[0] == 0x10:
            return Command("sound", self.seconds(message[3:]))
        assert message == b"\x00\x00\x00"
        return Command("hang_up")


def _read(provider: Provider, event: dict[str, Any]) -> Command:
    """Twilio's words, which are Telnyx's too."""
    match event["event"]:
        case "media":
            return Command("sound", provider.seconds(base64.b64decode(event["media"]["payload"])))
        case "mark":
            return Command("mark", name=event["mark"]["name"])
        case kind:
            assert kind == "clear"
            return Command("clear")
