"""How far behind us a WebRTC caller hears: from what RTCP tells of the way and of its unevenness. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MIN_BUFFER_S = 0.04
"""What a browser's own buffer holds on an even line: 26-48 ms in Chromium."""
_JITTERS_KEPT = 2.0
"""So many times the mean deviation of arrivals a browser's buffer keeps beyond that, to miss few packets."""


@dataclass(slots=True)
class Remote:
    """One caller. lost: share of our packets that did not arrive lately, 0-1."""

    delay_s: float = MIN_BUFFER_S
    """From a frame's sending to when it is heard."""
    lost: float = 0.0

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Take a receiver report (RFC 3550, section 6.4.1). round_trip_s: None where it is not known yet."""
        self.lost = lost
        self.delay_s = (round_trip_s or 0.0) / 2 + MIN_BUFFER_S + _JITTERS_KEPT * jitter_s
