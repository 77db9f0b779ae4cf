"""How much a client may send, on any transport: the part of `[limits]` for connections. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from voiceagent.validation.section import Duration, Section


class EventLimits(Section):
    """What one event of the Realtime API may be; one with sound only has `server.max_message_bytes`."""

    max_event_bytes: int = Field(default=262_144, ge=4_096)
    """Longest event but for appended sound, and longest body of a request, in bytes."""
    max_event_values: int = Field(default=10_000, ge=100)
    """JSON values in one event: numbers, texts, objects, lists, each counted."""
    max_event_depth: int = Field(default=32, ge=8)
    """Objects and lists within each other in one event, a tool's schema among them."""
    max_tools: int = Field(default=128, ge=0)
    """Tools of a session or of one response."""
    max_tools_bytes: int = Field(default=65_536, ge=1_024)
    """Bytes of those tools together, as JSON: each prompt has them."""
    max_instructions_characters: int = Field(default=100_000, ge=1)
    """Longest instructions of a session or of one response."""
    max_response_items: int = Field(default=500, ge=1)
    """Items that one response may be given as its input."""


class OfferLimits(Section):
    """What a WebRTC caller's offer, and what comes over its connection, may be."""

    max_offer_bytes: int = Field(default=65_536, ge=4_096)
    """Longest SDP offer."""
    max_offer_lines: int = Field(default=1_000, ge=50)
    """Lines of an offer."""
    max_offer_sections: int = Field(default=8, ge=2)
    """Media sections of an offer."""
    max_offer_candidates: int = Field(default=32, ge=1)
    """ICE candidates of an offer, whatever becomes of them."""
    max_channels: int = Field(default=4, ge=1)
    """Data channels of a call; one more ends it."""
    max_streams: int = Field(default=8, ge=1)
    """Sources of sound (SSRCs) of a call, and sources of reports of it; those of more are not heard."""


class TransportLimits(EventLimits, OfferLimits):
    """What a connection may send, and how long it may last."""

    max_bytes_per_s: int = Field(default=1_048_576, ge=65_536)
    """Bytes a second that one client may send in the long run, each message counted as 4 kB more than it has.
    A client that sends faster is read more slowly; where that cannot be done (data channels), its call is
    ended. The packets of WebRTC are counted beside that, with 1 kB more each; those beyond it are dropped."""
    max_connections: int = Field(default=1_000, ge=8)
    """TCP connections of a process at once; one more ends the one that has waited longest for a request."""
    max_request_s: Duration = 10.0
    """Seconds in which a request must have come, with its body; a connection without one is closed."""
    max_call_s: Duration = 14_400.0
    """Longest call."""
    max_idle_s: Duration = 600.0
    """Longest time in which nothing at all may come from a caller."""
    max_phone_idle_s: Duration = 30.0
    """The same on a phone line, on which sound always comes."""
    max_sidebands: int = Field(default=8, ge=0)
    """Maximum number of sidebands of one call at once; 0 allows none."""
    max_keys: int = Field(default=1_000, ge=1)
    """Keys that a caller on a phone line may press; one more ends the call."""


USUAL_LIMITS = TransportLimits()
"""The limits that hold where no configuration sets others."""


MESSAGE_BYTES = 4_096
"""Bytes that a message counts on top of its own: what it costs to take in even a short one."""
PACKET_BYTES = 1_024
"""Bytes that a packet of sound, or a chunk of SCTP, counts on top of its own over WebRTC."""
BURST_S = 4.0
"""How many seconds' worth may come at once: an upload of the sound that `server.input_buffer_s` takes."""


class Allowance:
    """How fast one client may send: a token bucket of bytes. Time is an argument.

    What is `left` may be spent at once; it grows by `rate` bytes a second, to `BURST_S` seconds' worth.

    Whoever spends subtracts from `left`, and asks `wait_s` only where it is below 0: that costs a frame of
    sound a comparison.
    """

    def __init__(self, rate: int, now_s: float) -> None:
        self._rate = rate
        self._full = round(rate * BURST_S)
        self._filled_s = now_s
        self.left = self._full

    def spend(self, size: int, clock: Callable[[], float]) -> bool:
        """Spend `size` where anything is left. Where nothing is, what came is to be dropped."""
        if self.left < 0 and self.wait_s(clock()):
            return False
        self.left -= size
        return True

    def wait_s(self, now_s: float) -> float:
        """How long to wait before anything more is taken, 0 where it may be at once."""
        grown = int((now_s - self._filled_s) * self._rate)
        # by what grew in whole bytes: the rest of a byte is not lost
        self._filled_s += grown / self._rate
        self.left = min(self._full, self.left + grown)
        return max(0.0, -self.left / self._rate)
