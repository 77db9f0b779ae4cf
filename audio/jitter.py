"""Jitter buffer: puts the packets of one voice back in order with the least delay.

A recognizer, unlike a loudspeaker, does not need an even pace: it counts time in samples. So the next packet
in order passes at once. A packet that is early, because others before it are missing, waits for them at most
for the depth; then they count as lost and a gap replaces them. The depth adapts: it grows when packets come
too late to be used, up to a limit, and shrinks while they come in order. A lost packet delays the packets
that wait behind it by the depth, and none after them.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_DEPTH_S = 0.02
"""Wait for missing packets if none has ever been late: the duration of one packet."""
MAX_DEPTH_S = 0.12
"""Maximum wait; later packets count as lost. It adds to the response latency."""
_MARGIN_S = 0.005
"""Added to the lateness of a packet that came too late: the next may be a little later."""
_SHRINK = 1 / 1500
"""Share of the depth above the minimum that each packet in order removes: half of it in 20 s."""
MAX_GAP_S = 1.0
"""Longer gaps are cut to this: it ends any turn, and lost audio does not come back."""
_RESTART_PACKETS = 500
"""A sequence number further off than this means that the sender restarted (RFC 3550, appendix A.1)."""
_MAX_SKIPPED = 64
"""Number of lost packets to remember, to measure how late they arrive."""


class MediaPacket(NamedTuple):
    """An RTP packet.

    sequence: 16 bits. timestamp: of its first sample, 32 bits. samples: duration in timestamp units.
    """

    sequence: int
    timestamp: int
    payload: bytes
    samples: int


class Gap(NamedTuple):
    """Missing audio.

    samples: duration in timestamp units. next_payload: payload of the packet after the gap, which may carry a
    copy; b"" if the sender was silent and nothing was lost.
    """

    samples: int
    next_payload: bytes = b""


class JitterBuffer:
    """Jitter buffer of one stream. rate_hz: clock rate of its timestamps."""

    def __init__(self, rate_hz: int) -> None:
        self._longest_gap = round(MAX_GAP_S * rate_hz)
        self._next_sequence: int | None = None  # not wrapped at 16 bits
        self._next_timestamp = 0
        self._held: dict[int, tuple[MediaPacket, float]] = {}  # by sequence, with arrival time
        self._lost: dict[int, float] = {}  # lost packets, with the time they were first missed
        self.depth_s = MIN_DEPTH_S
        """Maximum wait for missing packets, in seconds."""

    def push(self, packet: MediaPacket, now_s: float) -> list[MediaPacket | Gap]:
        """Add a packet. Return the packets and gaps that are ready, in order."""
        if self._next_sequence is None:
            self._next_sequence, self._next_timestamp = packet.sequence, packet.timestamp
        ahead = _signed(packet.sequence - self._next_sequence, 16)
        if abs(ahead) > _RESTART_PACKETS:
            self._restart(packet)
            ahead = 0
        sequence = self._next_sequence + ahead
        if ahead == 0 and not self._held:  # the usual packet: nothing is missing, and nothing waits
            ready: list[MediaPacket | Gap] = []
            self._release(packet, ready)
            return ready
        if ahead < 0:
            self._on_late_packet(sequence, now_s)
            return []
        if self._held and sequence < min(self._held):  # it fills a gap: allow later packets as much time
            self._increase_depth(now_s - self._missed_since_s())
        self._held.setdefault(sequence, (packet, now_s))
        return self.due(now_s)

    def due(self, now_s: float) -> list[MediaPacket | Gap]:
        """Return the packets and gaps that are ready at `now_s`, in order."""
        ready: list[MediaPacket | Gap] = []
        while self._held and self._next_sequence is not None:
            if self._next_sequence in self._held:
                self._release(self._held.pop(self._next_sequence)[0], ready)
            elif now_s >= self._missed_since_s() + self.depth_s:
                # the same sum as `next_due_s`, so that a timer set by it fires
                self._skip(ready)
            else:
                break
        return ready

    def next_due_s(self) -> float | None:
        """Return when to call `due` if no packet arrives before; None if none waits."""
        return self._missed_since_s() + self.depth_s if self._held else None

    def _missed_since_s(self) -> float:
        return min(arrived_s for _, arrived_s in self._held.values())

    def _release(self, packet: MediaPacket, ready: list[MediaPacket | Gap]) -> None:
        """Append the next packet in order to `ready`, after the gap before it, if any."""
        assert self._next_sequence is not None
        if packet.timestamp != self._next_timestamp:
            silent = _signed(packet.timestamp - self._next_timestamp, 32)
            if silent > 0:
                ready.append(Gap(min(silent, self._longest_gap)))
        ready.append(packet)
        self._next_sequence += 1
        self._next_timestamp = packet.timestamp + packet.samples
        self.depth_s -= (self.depth_s - MIN_DEPTH_S) * _SHRINK

    def _skip(self, ready: list[MediaPacket | Gap]) -> None:
        """Give up the packets missing before the first one held."""
        assert self._next_sequence is not None
        sequence = min(self._held)
        packet, _ = self._held[sequence]
        missed_since_s = self._missed_since_s()
        for lost in range(self._next_sequence, sequence):
            self._lost[lost] = missed_since_s
        while len(self._lost) > _MAX_SKIPPED:
            del self._lost[next(iter(self._lost))]
        missing = _signed(packet.timestamp - self._next_timestamp, 32)
        if missing > 0:
            ready.append(Gap(min(missing, self._longest_gap), packet.payload))
        self._next_sequence, self._next_timestamp = sequence, packet.timestamp

    def _on_late_packet(self, sequence: int, now_s: float) -> None:
        missed_since_s = self._lost.pop(sequence, None)  # None: a duplicate
        if missed_since_s is not None:
            self._increase_depth(now_s - missed_since_s)

    def _increase_depth(self, late_s: float) -> None:
        self.depth_s = min(max(self.depth_s, late_s + _MARGIN_S), MAX_DEPTH_S)

    def _restart(self, packet: MediaPacket) -> None:
        self._held.clear()
        self._lost.clear()
        self._next_sequence, self._next_timestamp = packet.sequence, packet.timestamp


def _signed(difference: int, bits: int) -> int:
    """Return the difference of two counters that wrap at `bits`, in [-2**(bits - 1), 2**(bits - 1))."""
    half = 1 << (bits - 1)
    return (difference + half) % (1 << bits) - half
