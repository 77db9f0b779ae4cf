"""Limits of connections, for all transports: a part of `[limits]`.

A class variable is a limit that no key sets: clients of the Realtime API and browsers stay far below it, and
beyond it one message costs more than a call is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from voiceagent.validation.section import Duration, Section


class EventLimits(Section):
    """Limits of one event of the Realtime API; events with audio only have the limit of a message."""

    max_event_bytes: ClassVar[int] = 262_144
    """Largest event of the Realtime API without audio, and largest request body."""
    max_event_values: ClassVar[int] = 10_000
    """JSON values in one event: numbers, strings, objects and lists."""
    max_event_depth: ClassVar[int] = 32
    """Nesting depth of JSON in one event, including tool schemas."""
    max_tools: ClassVar[int] = 128
    """Tools of a session or of one response."""
    max_tools_bytes: ClassVar[int] = 65_536
    """Size of these tools together, as JSON."""
    max_instructions_characters: ClassVar[int] = 100_000
    """Longest instructions of a session or of one response."""
    max_response_items: ClassVar[int] = 500
    """Input items of one out-of-band response."""


class OfferLimits(Section):
    """Limits of a WebRTC caller's offer and connection. A browser's offer has 3 to 8 kB, one or two media
    sections and some 20 candidates.
    """

    max_offer_bytes: ClassVar[int] = 65_536
    """Largest SDP offer of a WebRTC client."""
    max_offer_lines: ClassVar[int] = 1_000
    """Lines of an SDP offer."""
    max_offer_sections: ClassVar[int] = 8
    """Media sections of an SDP offer."""
    max_offer_candidates: ClassVar[int] = 32
    """ICE candidates of an SDP offer."""
    max_channels: ClassVar[int] = 4
    """Data channels of a call. One more ends the call."""
    max_streams: ClassVar[int] = 8
    """RTP sources (SSRCs) of a call, and as many RTCP sources. Further sources are ignored."""


class TransportLimits(EventLimits, OfferLimits):
    """Limits of a connection's rate and duration."""

    max_bytes_per_s: ClassVar[int] = 1_048_576
    """Sustained input rate of one client; each message counts as 4 kB more than its size. Faster clients are
    read more slowly. A data channel cannot be slowed down, so its call is ended. RTP packets have a separate
    budget of the same size, with 1 kB more per packet; packets beyond it are dropped.
    """
    max_connections: ClassVar[int] = 1_000
    """TCP connections of a process. One more closes the connection that has been idle for longest."""
    max_request_s: ClassVar[float] = 10.0
    """Time within which a request must arrive completely."""
    max_call_s: Duration = 14_400.0
    """Longest call."""
    max_idle_s: ClassVar[float] = 600.0
    """Longest time without any input from a client. Then the call is ended."""
    max_phone_idle_s: ClassVar[float] = 30.0
    """Longest time without audio on a phone line. Then the call is ended. Providers send 50 frames a second
    in silence too, and open a lost stream again within some seconds.
    """
    max_sidebands: ClassVar[int] = 8
    """Concurrent sideband connections of one call. 0 allows none."""
    max_dtmf_digits: ClassVar[int] = 1_000
    """DTMF digits that a caller may send on a phone line or over WebRTC. One more ends the call."""


USUAL_LIMITS = TransportLimits()
"""Default limits."""


MESSAGE_BYTES = 4_096
"""Bytes added to the length of each message: the cost of receiving even a short one."""
PACKET_BYTES = 1_024
"""Bytes added to each WebRTC audio packet and SCTP chunk."""
BURST_S = 4.0
"""Burst size, in seconds of the rate: an upload as long as `ServerConfig.input_buffer_s`."""


class Allowance:
    """Rate limiter of one client: a token bucket of bytes. Time is an argument.

    `left` may be spent at once; it grows by `rate` bytes a second, up to `BURST_S` seconds' worth. Hot paths
    subtract from `left` and call `wait_s` only if it is negative, so that an audio frame costs one
    comparison.
    """

    def __init__(self, rate: int, now_s: float) -> None:
        self._rate = rate
        self._full = round(rate * BURST_S)
        self._filled_s = now_s
        self.left = self._full

    def spend(self, size: int, clock: Callable[[], float]) -> bool:
        """Spend `size` and return True, or return False if nothing is left: then drop the data."""
        if self.left < 0 and self.wait_s(clock()):
            return False
        self.left -= size
        return True

    def wait_s(self, now_s: float) -> float:
        """Return the seconds to wait before reading more; 0 if none."""
        grown = int((now_s - self._filled_s) * self._rate)
        # by whole bytes: the fraction of a byte is not lost
        self._filled_s += grown / self._rate
        self.left = min(self._full, self.left + grown)
        return max(0.0, -self.left / self._rate)
