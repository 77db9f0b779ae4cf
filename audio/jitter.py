"""Puts the packets of one voice back in order, as soon as possible. Pure: time is an argument.

Sound that goes to a recognizer need not come at an even pace, as it must to a loudspeaker: it counts its
time in samples. So a packet whose turn it is passes at once, without any delay; one that is early, because
those before it are missing, waits for them, but never longer than the depth. Then they are taken for lost,
and a gap stands in their place. The depth follows what the line does: it grows where packets come too late
to be used, up to a limit, and shrinks while they come in order. One lost packet delays those that wait
behind it by the depth, and nothing after them.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_DEPTH_S = 0.02
"""How long a packet waits for those before it where all came in order: as long as a packet of sound lasts."""
MAX_DEPTH_S = 0.12
"""The longest that a packet waits: what is later is taken to be lost. The caller is answered as much later.
"""
_MARGIN_S = 0.005
"""Added to the lateness of a packet that came too late: the next one may be a little later still."""
_SHRINK = 1 / 1500
"""Share of what the depth has beyond the least that one packet in order takes from it: half of it in 20 s."""
MAX_GAP_S = 1.0
"""A longer gap is cut to this: it ends any turn, and what was lost will not come back."""
_RESTART_PACKETS = 500
"""A sequence number further off than this comes from a sender that began anew (RFC 3550, appendix A.1)."""
_MAX_SKIPPED = 64
"""Packets given up whose late arrival would still be noticed."""


class MediaPacket(NamedTuple):
    """One RTP packet. sequence: 16 bits. timestamp: of its first sample, 32 bits. samples: how long it
    lasts, in the timestamp's units.
    """

    sequence: int
    timestamp: int
    payload: bytes
    samples: int


class Gap(NamedTuple):
    """Sound that is missing. samples: in the timestamp's units. next_payload: of the packet just behind it,
    which may carry a copy; b"" where nothing was lost, but the sender was silent.
    """

    samples: int
    next_payload: bytes = b""


class JitterBuffer:
    """One stream. rate_hz: of its timestamps."""

    def __init__(self, rate_hz: int) -> None:
        self._longest_gap = round(MAX_GAP_S * rate_hz)
        self._next_sequence: int | None = None  # not wrapped at 16 bits
        self._next_timestamp = 0
        self._held: dict[int, tuple[MediaPacket, float]] = {}  # by sequence, with the time of arrival
        self._skipped: dict[int, float] = {}  # given up, with the time they were first missed
        self.depth_s = MIN_DEPTH_S
        """How long a packet waits at most for those before it."""

    def push(self, packet: MediaPacket, now_s: float) -> list[MediaPacket | Gap]:
        """Take a packet. Returns what can be heard now, in order."""
        if self._next_sequence is None:
            self._next_sequence, self._next_timestamp = packet.sequence, packet.timestamp
        ahead = _signed(packet.sequence - self._next_sequence, 16)
        if abs(ahead) > _RESTART_PACKETS:
            self._restart(packet)
            ahead = 0
        sequence = self._next_sequence + ahead
        if ahead == 0 and not self._held:  # the usual packet: nothing is missing, and nothing waits
            ready: list[MediaPacket | Gap] = []
            self._pass(packet, ready)
            return ready
        if ahead < 0:
            self._too_late(sequence, now_s)
            return []
        if self._held and sequence < min(self._held):  # it closes a gap: others should have the time, too
            self._deepen(now_s - self._missed_since_s())
        self._held.setdefault(sequence, (packet, now_s))
        return self.due(now_s)

    def due(self, now_s: float) -> list[MediaPacket | Gap]:
        """What can be heard now: what is next in order and, once it was waited for long enough, what is
        behind it.
        """
        ready: list[MediaPacket | Gap] = []
        while self._held and self._next_sequence is not None:
            if self._next_sequence in self._held:
                self._pass(self._held.pop(self._next_sequence)[0], ready)
            elif now_s >= self._missed_since_s() + self.depth_s:  # the very sum of `next_due_s`
                self._skip(ready)
            else:
                break
        return ready

    def next_due_s(self) -> float | None:
        """When to ask again, if nothing comes before; None where nothing waits."""
        return self._missed_since_s() + self.depth_s if self._held else None

    def _missed_since_s(self) -> float:
        return min(arrived_s for _, arrived_s in self._held.values())

    def _pass(self, packet: MediaPacket, ready: list[MediaPacket | Gap]) -> None:
        """Let the next packet in order be heard."""
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
        """Give up what is missing before the first packet that is there."""
        assert self._next_sequence is not None
        sequence = min(self._held)
        packet, _ = self._held[sequence]
        missed_since_s = self._missed_since_s()
        for lost in range(self._next_sequence, sequence):
            self._skipped[lost] = missed_since_s
        while len(self._skipped) > _MAX_SKIPPED:
            del self._skipped[next(iter(self._skipped))]
        missing = _signed(packet.timestamp - self._next_timestamp, 32)
        if missing > 0:
            ready.append(Gap(min(missing, self._longest_gap), packet.payload))
        self._next_sequence, self._next_timestamp = sequence, packet.timestamp

    def _too_late(self, sequence: int, now_s: float) -> None:
        missed_since_s = self._skipped.pop(sequence, None)  # None: it came before
        if missed_since_s is not None:
            self._deepen(now_s - missed_since_s)

    def _deepen(self, late_s: float) -> None:
        self.depth_s = min(max(self.depth_s, late_s + _MARGIN_S), MAX_DEPTH_S)

    def _restart(self, packet: MediaPacket) -> None:
        self._held.clear()
        self._skipped.clear()
        self._next_sequence, self._next_timestamp = packet.sequence, packet.timestamp


def _signed(difference: int, bits: int) -> int:
    """The difference of two counters that wrap at `bits`, between -2**(bits - 1) and 2**(bits - 1)."""
    half = 1 << (bits - 1)
    return (difference + half) % (1 << bits) - half
