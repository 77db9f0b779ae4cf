"""Wire protocols of the callers of `bench calls`: precomputed frames, and parsing of messages."""

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
"""Opus bit rate of WebRTC for wideband speech (its audio_encoder_opus.cc, kOpusBitrateWbBps)."""
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
"""Opcodes of WebSocket frames (RFC 6455, section 5.2)."""


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The server detected the end of speech at `at_s` seconds of the call's audio."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """The agent was interrupted: unplayed audio is dropped."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An error event of the server. reason: its message."""

    reason: str


@dataclass(frozen=True, slots=True)
class Mark:
    """End of the audio so far: send `answer` when it has been played, or dropped."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Understood:
    """The server has transcribed a turn: `text`."""

    text: str


Notification = SpeechStopped | Cleared | Refused | Mark | Understood


class Wire(ABC):
    """A protocol. path: of its calls. needs: hint for a server that refuses one. format: of the audio."""

    path: str
    needs = ""
    format: AudioFormat

    @abstractmethod
    def greeting(self) -> list[bytes]:
        """Return the messages that begin a call."""

    @abstractmethod
    def frame(self, sound: Samples) -> bytes:
        """Return the message of 20 ms of audio at the format's rate, valid at any position of any call."""

    def numbered(self, frame: bytes, number: int) -> bytes:
        """Return such a message as the `number`-th (from 1) of its call, if the protocol counts."""
        return frame

    @abstractmethod
    def is_sound(self, message: bytes) -> bool:
        """Return True if a message is the agent's audio. Must be cheap: called for every message."""

    def seconds(self, message: bytes) -> float:
        """Return the duration of the audio in such a message."""
        return FRAME_S

    @abstractmethod
    def sound(self, message: bytes) -> Samples:
        """Return the audio in such a message, at the format's rate."""

    @abstractmethod
    def notification(self, message: bytes) -> Notification | None:
        """Return the content of another message, if a caller needs it."""


class RealtimeWire(Wire):
    """The OpenAI Realtime protocol with PCM at 24 kHz, the server's default.

    silence_s: silence that the server includes in its time of the end of speech.
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
        """Return no messages: the server's defaults are suitable."""
        return []

    def frame(self, sound: Samples) -> bytes:
        """Return an `input_audio_buffer.append`."""
        return websocket_frame(TEXT, _message(type="input_audio_buffer.append", audio=self._encode(sound)))

    def is_sound(self, message: bytes) -> bool:
        """Return True for a `response.output_audio.delta`."""
        return message.startswith(self._SOUND)

    def sound(self, message: bytes) -> Samples:
        """Return the audio of the delta."""
        return decode(b64decode(json.loads(message)["delta"]), self.format)

    def notification(self, message: bytes) -> Notification | None:
        """Parse `speech_stopped`, a transcript, a cancelled `response.done`, and `error`."""
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
    """The Realtime protocol over WebRTC: audio is separate from the events, in Opus.

    One encoder creates the frames of all callers, like Chromium's, which sends mono wideband speech to a
    server that negotiates 16 kHz. Times include the network, but no jitter buffer of the caller. loss: loss
    reported by the server, 0 to 1, which makes Chromium add copies of packets.
    """

    format = AudioFormat.PCM_16K

    def __init__(self, silence_s: float, loss: float = 0.0) -> None:
        super().__init__(silence_s)
        self._encoder = OpusEncoder(CHROMIUM_BITRATE, rate_hz=self.format.rate_hz, speech_coder=True)
        self._encoder.expect_loss(loss)

    def frame(self, sound: Samples) -> bytes:
        """Return the payload of a packet."""
        return self._encoder.encode(sound)


class TwilioWire(Wire):
    """Twilio Media Streams (https://www.twilio.com/docs/voice/media-streams/websocket-messages).

    All calls use the same ids, as each has a connection of its own.
    """

    path = "/telephony/twilio"
    needs = "it needs [telephony.twilio] in its configuration, without auth_token_env"
    format = AudioFormat.PCMU
    _STREAM = "MZ00000000000000000000000000000000"
    _SOUND = b'{"event":"media"'
    _PAYLOAD = re.compile(rb'"payload": ?"([^"]*)"')

    def greeting(self) -> list[bytes]:
        """Return `connected` and `start`."""
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
        """Return the part of a `media` after its number."""
        return b'","payload":"' + b64encode(encode(sound, self.format)) + b'"}}'

    def numbered(self, frame: bytes, number: int) -> bytes:
        """Return a `media`."""
        head = f'{{"event":"media","streamSid":"{self._STREAM}","media":{{"track":"inbound","chunk":"{number}'
        return websocket_frame(TEXT, head.encode() + frame)

    def is_sound(self, message: bytes) -> bool:
        """Return True for a `media`."""
        return message.startswith(self._SOUND)

    def seconds(self, message: bytes) -> float:
        """Return the payload's duration: four base64 characters are three bytes, a byte is a sample."""
        found = self._PAYLOAD.search(message)
        text = found[1] if found else b""
        return (len(text) * 3 // 4 - text.count(b"=")) / self.format.rate_hz

    def sound(self, message: bytes) -> Samples:
        """Return the audio of the payload."""
        return decode(b64decode(json.loads(message)["media"]["payload"]), self.format)

    def notification(self, message: bytes) -> Notification | None:
        """Parse `clear` and `mark`."""
        event = json.loads(message)
        if event["event"] == "mark":
            mark = _message(event="mark", streamSid=self._STREAM, mark=event["mark"])
            return Mark(websocket_frame(TEXT, mark))
        return Cleared() if event["event"] == "clear" else None


def frames_of(wire: Wire, sound: Samples) -> tuple[bytes, ...]:
    """Return audio [n] at 24 kHz as messages of 20 ms, the last one zero-padded."""
    sound = resample(sound, AudioFormat.PCM_24K.rate_hz, wire.format.rate_hz)
    frame_samples = round(FRAME_S * wire.format.rate_hz)
    padded = np.pad(sound, (0, -len(sound) % frame_samples))
    return tuple(wire.frame(frame) for frame in padded.reshape(-1, frame_samples))


def websocket_frame(opcode: int, payload: bytes) -> bytes:
    """Return a complete client frame (RFC 6455, section 5.2).

    The masking key is zero, which is allowed and leaves the payload unchanged, so that a frame can be reused.
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
    """Splits a server's data into frames, which are unmasked and unfragmented."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return opcode and payload of each frame that `data` completes."""
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
