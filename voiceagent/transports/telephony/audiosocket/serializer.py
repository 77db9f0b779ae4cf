"""AudioSocket, Asterisk's audio over TCP: one byte of kind, two of length (big-endian), then the body.

   https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket. Audio is 16-bit linear at 8 kHz,
little-endian; the sender paces it. The protocol can neither clear sent audio nor report playout.
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
    """Serializer of one connection. Messages are whole: head and body."""

    def __init__(self) -> None:
        self._started = False

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before the call's UUID. Raise ProtocolError."""
        assert isinstance(message, bytes)  # AudioSocket has no text
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
        """Return a frame of the agent's audio as a message."""
        return _message(SOUND, encode_sound(frame, FORMAT))

    def mark(self, name: str) -> None:
        """Return None: AudioSocket has no marks, so playout is estimated from the clock."""

    def clear(self) -> None:
        """Return None: sent audio cannot be dropped. It is never more than `playout.lead_s`."""

    def hang_up(self) -> bytes:
        """Return the hang-up message. Asterisk then hangs up or continues in the dialplan."""
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
    """Return the length of the body that follows this head [3]."""
    return int.from_bytes(head[1:], "big")


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(2, "big") + body
