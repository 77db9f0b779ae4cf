"""How much a client may send, on any transport: the part of `[limits]` for connections. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from voiceagent.validation.section import Duration, Section


class EventLimits(Section):
    """What one event of the Realtime API may be; one with sound only has `server.max_message_bytes`."""

    max_event_bytes: int = Field(default=262_144, ge=4_096)
    """Largest event of the Realtime API without audio, and largest request body."""
    max_event_values: int = Field(default=10_000, ge=100)
    """JSON values in one event: numbers, strings, objects and lists."""
    max_event_depth: int = Field(default=32, ge=8)
    """Nesting depth of JSON in one event, including tool schemas."""
    max_tools: int = Field(default=128, ge=0)
    """Tools of a session or of one response."""
    max_tools_bytes: int = Field(default=65_536, ge=1_024)
    """Size of these tools together, as JSON."""
    max_instructions_characters: int = Field(default=100_000, ge=1)
    """Longest instructions of a session or of one response."""
    max_response_items: int = Field(default=500, ge=1)
    """Input items of one out-of-band response."""


class OfferLimits(Section):
    """What a WebRTC caller's offer, and what comes over its connection, may be."""

    max_offer_bytes: int = Field(default=65_536, ge=4_096)
    """Largest SDP offer of a WebRTC client."""
    max_offer_lines: int = Field(default=1_000, ge=50)
    """Lines of an SDP offer."""
    max_offer_sections: int = Field(default=8, ge=2)
    """Media sections of an SDP offer."""
    max_offer_candidates: int = Field(default=32, ge=1)
    """ICE candidates of an SDP offer."""
    max_channels: int = Field(default=4, ge=1)
    """Data channels of a call. One more ends the call."""
    max_streams: int = Field(default=8, ge=1)
    """RTP sources (SSRCs) of a call, and as many RTCP sources. Further sources are ignored."""


class TransportLimits(EventLimits, OfferLimits):
    """What a connection may send, and how long it may last."""

    max_bytes_per_s: int = Field(default=1_048_576, ge=65_536)
    """Sustained input rate of one client; each message counts as 4 kB more than its size. Faster clients are
    read more slowly. A data channel cannot be slowed down, so its call is ended. RTP packets have a separate
    budget of the same size, with 1 kB more per packet; packets beyond it are dropped.
    """
    max_connections: int = Field(default=1_000, ge=8)
    """TCP connections of a process. One more closes the connection that has been idle for longest."""
    max_request_s: Duration = 10.0
    """Time within which a request must arrive completely."""
    max_call_s: Duration = 14_400.0
    """Longest call."""
    max_idle_s: Duration = 600.0
    """Longest time without any input from a client. Then the call is ended."""
    max_phone_idle_s: Duration = 30.0
    """Longest time without audio on a phone line. Then the call is ended."""
    max_sidebands: int = Field(default=8, ge=0)
    """Concurrent sideband connections of one call. 0 allows none."""
    max_keys: int = Field(default=1_000, ge=1)
    """DTMF digits that a caller may send on a phone line. One more ends the call."""


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
