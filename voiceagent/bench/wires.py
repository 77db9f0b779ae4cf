"""How the callers of `bench calls` speak on the wire: frames made once, and what comes back. Pure."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from dataclasses import dataclass

import numpy as np

from audio.opus import OpusEncoder
from audio.pcm import AudioFormat, Samples, decode, encode
from audio.resample import resample
from voiceagent.bench.caller import FRAME_S

CHROMIUM_BITRATE = 20_000
"""What WebRTC gives Opus for wideband speech (its audio_encoder_opus.cc, kOpusBitrateWbBps)."""
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
"""Opcodes of WebSocket frames (RFC 6455, section 5.2)."""


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The agent took the voice for over at `at_s` seconds of the call's sound."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """The agent stopped in mid-response: what is not played yet never will be."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something went wrong; the text says what."""

    reason: str


@dataclass(frozen=True, slots=True)
class Mark:
    """The sound so far ends here: `answer` is to be sent when it has been played, or dropped."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Understood:
    """What a turn was taken to say."""

    text: str


Notification = SpeechStopped | Cleared | Refused | Mark | Understood


class Wire(ABC):
    """One protocol. path: where its calls arrive. needs: what a server that forbids one may lack.
    format: how sound travels.
    """

    path: str
    needs = ""
    format: AudioFormat

    @abstractmethod
    def greeting(self) -> list[bytes]:
        """The messages that begin a call."""

    @abstractmethod
    def frame(self, sound: Samples) -> bytes:
        """The message of 20 ms of the caller's sound at the rate of the format, for any place in any call."""

    def numbered(self, frame: bytes, number: int) -> bytes:
        """Such a message as the `number`-th of its call, where the protocol counts; it starts from 1."""
        return frame

    @abstractmethod
    def is_sound(self, message: bytes) -> bool:
        """Whether a message is the agent's sound; cheap, for it is asked of every message."""

    def seconds(self, message: bytes) -> float:
        """The length of the agent's sound in such a message."""
        return FRAME_S

    @abstractmethod
    def sound(self, message: bytes) -> Samples:
        """The agent's sound in such a message, at the rate of the format."""

    @abstractmethod
    def notification(self, message: bytes) -> Notification | None:
        """What another message tells, where a caller minds it."""


class RealtimeWire(Wire):
    """The OpenAI Realtime protocol with PCM at 24 kHz, as the server speaks it unless set otherwise.

    silence_s: silence that the server counts in where it tells that speech stopped.
    """

    path = "/v1/realtime?model=bench"
    format = AudioFormat.PCM_24K
    _SOUND = b'{"type":"response.output_audio.delta"'
    _TRANSCRIBED = "conversation.item.input_audio_transcription.completed"
    _MINDED = tuple(
        f'{{"type":"{event}"'.encode()
        for event in ("response.done", "input_audio_buffer.speech_stopped", "error", _TRANSCRIBED)
    )

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s

    def greeting(self) -> list[bytes]:
        """The server's defaults are right: silence of `turn.silence_s` ends a turn, as configured."""
        return []

    def frame(self, sound: Samples) -> bytes:
        """An `input_audio_buffer.append`."""
        return websocket_frame(TEXT, _message(type="input_audio_buffer.append", audio=self._encode(sound)))

    def is_sound(self, message: bytes) -> bool:
        """Whether it is a `response.output_audio.delta`."""
        return message.startswith(self._SOUND)

    def sound(self, message: bytes) -> Samples:
        """The delta."""
        return decode(b64decode(json.loads(message)["delta"]), self.format)

    def notification(self, message: bytes) -> Notification | None:
        """From `speech_stopped`, a transcript, a `response.done` that was cancelled, and `error`."""
        if not message.startswith(self._MINDED):
            return None
        event = json.loads(message)
        if event["type"] == "error":
            return Refused(event["error"]["message"])
        if event["type"] == "response.done":
            return Cleared() if event["response"]["status"] == "cancelled" else None
        if event["type"] == self._TRANSCRIBED:
            return Understood(event["transcript"])
        return SpeechStopped(event["audio_end_ms"] / 1000 - self._silence_s)

    def _encode(self, sound: Samples) -> str:
        return b64encode(encode(sound, self.format)).decode("ascii")


class WebRtcWire(RealtimeWire):
    """The same protocol over WebRTC: the sound goes apart from the events, in Opus.

    One encoder makes the frames of all callers, one after the other: as Chromium does, which sends wideband
    speech, mono, to a server that says it listens at 16 kHz. The way of the sound counts in, as at a
    loudspeaker: no buffer of the caller's own does. loss: what the server reports as lost, 0 to 1, which has
    Chromium put copies of packets into the next.
    """

    format = AudioFormat.PCM_16K

    def __init__(self, silence_s: float, loss: float = 0.0) -> None:
        super().__init__(silence_s)
        self._encoder = OpusEncoder(CHROMIUM_BITRATE, rate_hz=self.format.rate_hz, speech_coder=True)
        self._encoder.expect_loss(loss)

    def frame(self, sound: Samples) -> bytes:
        """The payload of a packet."""
        return self._encoder.encode(sound)


class TwilioWire(Wire):
    """Twilio Media Streams (https://www.twilio.com/docs/voice/media-streams/websocket-messages).

    All calls have the same ids: each has a connection of its own.
    """

    path = "/telephony/twilio"
    needs = "it needs [telephony.twilio] in its configuration, without auth_token_env"
    format = AudioFormat.PCMU
    _STREAM = "MZ00000000000000000000000000000000"
    _SOUND = b'{"event":"media"'
    _PAYLOAD = re.compile(rb'"payload": ?"([^"]*)"')

    def greeting(self) -> list[bytes]:
        """`connected` and `start`."""
        ids = {"streamSid": self._STREAM, "accountSid": "AC" + "0" * 32, "callSid": "CA" + "0" * 32}
        media = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
        start = {**ids, "tracks": ["inbound"], "customParameters": {}, "mediaFormat": media}
        return [
            websocket_frame(TEXT, _message(event="connected", protocol="Call", version="1.0.0")),
            websocket_frame(
                TEXT, _message(event="start", sequenceNumber="1", streamSid=self._STREAM, start=start)
            ),
        ]

    def frame(self, sound: Samples) -> bytes:
        """What stands in a `media` after its number."""
        return b'","payload":"' + b64encode(encode(sound, self.format)) + b'"}}'

    def numbered(self, frame: bytes, number: int) -> bytes:
        """A `media`."""
        head = f'{{"event":"media","streamSid":"{self._STREAM}","media":{{"track":"inbound","chunk":"{number}'
        return websocket_frame(TEXT, head.encode() + frame)

    def is_sound(self, message: bytes) -> bool:
        """Whether it is a `media`."""
        return message.startswith(self._SOUND)

    def seconds(self, message: bytes) -> float:
        """The seconds of sound in the payload: four characters of base64 are three bytes, and a byte is a
        sample.
        """
        found = self._PAYLOAD.search(message)
        text = found[1] if found else b""
        return (len(text) * 3 // 4 - text.count(b"=")) / self.format.rate_hz

    def sound(self, message: bytes) -> Samples:
        """The payload."""
        return decode(b64decode(json.loads(message)["media"]["payload"]), self.format)

    def notification(self, message: bytes) -> Notification | None:
        """From `clear` and `mark`."""
        event = json.loads(message)
        if event["event"] == "mark":
            mark = _message(event="mark", streamSid=self._STREAM, mark=event["mark"])
            return Mark(websocket_frame(TEXT, mark))
        return Cleared() if event["event"] == "clear" else None


def frames_of(wire: Wire, sound: Samples) -> tuple[bytes, ...]:
    """Sound [n] at 24 kHz as messages of 20 ms; what is left of the last is silence."""
    sound = resample(sound, AudioFormat.PCM_24K.rate_hz, wire.format.rate_hz)
    frame_samples = round(FRAME_S * wire.format.rate_hz)
    padded = np.pad(sound, (0, -len(sound) % frame_samples))
    return tuple(wire.frame(frame) for frame in padded.reshape(-1, frame_samples))


def websocket_frame(opcode: int, payload: bytes) -> bytes:
    """One whole frame of a client (RFC 6455, section 5.2).

    The key that masks it is zero, which is allowed and leaves the payload as it is: a frame is made once.
    """
    length = len(payload)
    if length < 126:
        head = bytes((0x80 | opcode, 0x80 | length))
    elif length < 1 << 16:
        head = bytes((0x80 | opcode, 0x80 | 126)) + length.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, 0x80 | 127)) + length.to_bytes(8, "big")
    return head + bytes(4) + payload


class FrameReader:
    """Cuts what a server sends into frames; their payloads come unmasked and whole."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The opcode and payload of each frame that `data` completes."""
        data = self._unread + data if self._unread else data
        frames: list[tuple[int, bytes]] = []
        start, available = 0, len(data)
        while available - start >= 2:
            length, begin = data[start + 1], start + 2
            if length >= 126:
                begin = start + (4 if length == 126 else 10)
                length = int.from_bytes(data[start + 2 : begin], "big")
            if available < begin + length:
                break
            frames.append((data[start] & 0x0F, data[begin : begin + length]))
            start = begin + length
        self._unread = data[start:]
        return frames


def _message(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
