"""AudioSocket, Asterisk's sound over TCP: a byte of kind, two of length (big-endian), then a body. Pure.

https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket. Sound is 16-bit linear at 8 kHz,
little-endian; the sender paces it. There is no way to take sound back, nor to know what was heard.
"""

from __future__ import annotations

from uuid import UUID

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.telephony.stream.json_messages import wrong
from voiceagent.transports.telephony.stream.serializer import (
    DIGITS,
    KeyPressed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Stopped,
    Unknown,
)

FORMAT = AudioFormat.PCM_8K
HEAD_BYTES = 3
HANG_UP, IDENTITY, DTMF, SOUND, ERROR = 0x00, 0x01, 0x03, 0x10, 0xFF


class AudioSocketSerializer:
    """One connection. Messages are whole: head and body."""

    def __init__(self) -> None:
        self._started = False

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before the call's UUID. Raises ProtocolError."""
        assert isinstance(message, bytes)  # TCP has no text
        kind, body = message[0], message[HEAD_BYTES:]
        if kind == IDENTITY:
            return self._start(body)
        if kind == HANG_UP:
            return Stopped("the caller hung up")
        if not self._started:
            return None
        match kind:
            case _ if kind == SOUND:
                return Media(body)
            case _ if kind == DTMF:
                return _key(body)
            case _ if kind == ERROR:
                raise ProtocolError(f"Asterisk reports error {body.hex()}")
            case _:
                return Unknown(f"{kind:#04x}")

    def media(self, frame: Samples) -> bytes:
        """The agent's sound."""
        return _message(SOUND, encode_sound(frame, FORMAT))

    def mark(self, name: str) -> None:
        """There are no marks: what was heard follows the clock."""

    def clear(self) -> None:
        """What was sent cannot be taken back; it is never more than `playout.lead_s`."""

    def hang_up(self) -> bytes:
        """Asterisk hangs up, or goes on in the dialplan."""
        return _message(HANG_UP, b"")

    def _start(self, body: bytes) -> Started:
        if self._started:
            raise ProtocolError("a second UUID came; a call has one")
        if len(body) != 16:
            raise ProtocolError(f"the UUID has {len(body)} bytes; allowed: 16")
        self._started = True
        return Started(str(UUID(bytes=body)), FORMAT, FORMAT)


def _key(body: bytes) -> KeyPressed:
    digit = body.decode("ascii", "replace").upper()
    if digit not in DIGITS:
        raise wrong("digit", digit, f"one of {''.join(DIGITS)}")
    return KeyPressed(digit)


def body_bytes(head: bytes) -> int:
    """How many bytes follow this head [3]."""
    return int.from_bytes(head[1:], "big")


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(2, "big") + body
