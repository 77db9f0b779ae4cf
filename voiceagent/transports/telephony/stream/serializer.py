"""What happens on a phone line, free of any provider's wire, and what a provider's serializer does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from audio.pcm import AudioFormat, Samples

DIGITS = tuple("0123456789*#ABCD")
"""The keys of a phone (ITU-T Q.23)."""
TRACEPARENT = "traceparent"
"""The header of W3C Trace Context, and the parameter of a stream that has it from the webhook before."""


class ProtocolError(Exception):
    """The provider broke its protocol: the text names the thing, the value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Started:
    """The call is there. call_id, account_id: the provider's names of call and account, for its REST API.

    parameters: what the provider or its owner says about the call. frame_s: the agent's sound in a message.
    """

    call_id: str
    input_format: AudioFormat
    output_format: AudioFormat
    account_id: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    frame_s: float = 0.02


class Media(NamedTuple):
    """The caller's next sound in the call's input format. number: its place, where the order may change.

    50 a second come in each call: a frozen dataclass takes twice as long to make.
    """

    payload: bytes
    number: int | None = None


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The caller pressed a key."""

    digit: str


@dataclass(frozen=True, slots=True)
class MarkPlayed:
    """All that was sent before the mark of this name was played, or dropped by a `clear`."""

    name: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The provider is done with the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event that the serializer does not know: the provider may have added one."""

    name: str


@dataclass(frozen=True, slots=True)
class LineError:
    """The provider reports an error, after which the stream goes on."""

    reported: str


PhoneEvent = Started | Media | KeyPressed | MarkPlayed | Stopped | Unknown | LineError
Message = str | bytes


class Serializer(Protocol):
    """One provider's protocol, for one call. A message that need not be sent is None."""

    def decode(self, message: Message) -> PhoneEvent | None:
        """What a message of the provider says; None for nothing of interest. Raises ProtocolError."""

    def media(self, frame: Samples) -> Message:
        """The agent's sound, int16 mono at the rate of the output format."""

    def mark(self, name: str) -> Message | None:
        """A request to be told when all that was sent before is played; None where the wire has none."""

    def clear(self) -> Message | None:
        """A request to drop what was sent and has not been played."""

    def hang_up(self) -> Message | None:
        """A request to end the call; None where closing the connection, or a REST API, does it."""
