"""Events of a phone call, independent of the provider, and the interface of serializers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from audio.pcm import AudioFormat, Samples

DIGITS = tuple("0123456789*#ABCD")
"""Keys of a phone (ITU-T Q.23)."""
TRACEPARENT = "traceparent"
"""Header of W3C Trace Context, and the stream parameter that carries it over from the webhook."""

START_S = 10.0
"""Timeout for the provider's start message."""


class ProtocolError(Exception):
    """An invalid message; the text names the field, its value and the allowed ones."""


@dataclass(frozen=True, slots=True)
class Started:
    """Start of a call. call_id, account_id: for the provider's REST API. parameters: the call's metadata,
    from the provider or the owner. frame_s: agent audio per message.
    """

    call_id: str
    input_format: AudioFormat
    output_format: AudioFormat
    account_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    frame_s: float = 0.02


class Media(NamedTuple):
    """Caller audio in the call's input format. number: sequence number, where the order may change.

    A NamedTuple: 50 a second are made in each call, and a frozen dataclass takes twice as long.
    """

    payload: bytes
    number: int | None = None


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """A keypress of the caller."""

    digit: str


@dataclass(frozen=True, slots=True)
class MarkPlayed:
    """Playout of everything before a mark, or its removal by `clear`."""

    name: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """End of the call by the provider."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event that the serializer does not know; the provider may have added it."""

    name: str


@dataclass(frozen=True, slots=True)
class LineError:
    """An error that the provider reported; the stream continues."""

    reported: str


PhoneEvent = Started | Media | KeyPressed | MarkPlayed | Stopped | Unknown | LineError
Message = str | bytes


class Serializer(Protocol):
    """Protocol of one provider, for one call. Methods return None if there is nothing to send."""

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None if it has no meaning here. Raise ProtocolError."""

    def media(self, frame: Samples) -> Message:
        """Return audio as a message. frame: int16 mono at the rate of the output format."""

    def mark(self, name: str) -> Message | None:
        """Return a request to report when all audio sent so far has been played; None if there is none."""

    def clear(self) -> Message | None:
        """Return a request to drop all unplayed audio."""

    def hang_up(self) -> Message | None:
        """Return a request to end the call; None if closing the connection or a REST API does it."""
