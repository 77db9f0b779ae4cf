"""RTP (RFC 3550) as far as one voice needs it: its packets, what extends a header passed over, and what RTCP
tells of the other end. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple

_HEADER = Struct("!BBHII")
_EXTENSION = Struct("!HH")
_VERSION = 2 << 6
_PADDING, _EXTENDED, _SOURCES = 0x20, 0x10, 0x0F
_MARKER = 0x80


class RtpPacket(NamedTuple):
    """One packet. sequence_number: 16 bits. timestamp: of its first sample, 32 bits. ssrc: the stream.
    marker: it is the first after a silence (RFC 3551, section 4.1).
    """

    payload_type: int
    sequence_number: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False

    @classmethod
    def parse(cls, data: bytes) -> RtpPacket | None:
        """The packet of a datagram; None where it is none, or broken."""
        if len(data) < _HEADER.size:
            return None
        first, second, sequence_number, timestamp, ssrc = _HEADER.unpack_from(data)
        begin, end = _HEADER.size + 4 * (first & _SOURCES), len(data)
        if first & _EXTENDED and begin + _EXTENSION.size <= end:
            begin += _EXTENSION.size + 4 * _EXTENSION.unpack_from(data, begin)[1]
        if first & _PADDING:
            end -= data[-1]
        if first & 0xC0 != _VERSION or begin > end or (first & _PADDING and not data[-1]):
            return None
        marker = bool(second & _MARKER)
        return cls(second & ~_MARKER, sequence_number, timestamp, ssrc, data[begin:end], marker)

    def serialize(self, extension: bytes = b"") -> bytes:
        """The datagram. extension: a whole one with its header, as `mid_extension` makes it."""
        first = _VERSION | _EXTENDED if extension else _VERSION
        second = _MARKER | self.payload_type if self.marker else self.payload_type
        header = _HEADER.pack(first, second, self.sequence_number, self.timestamp, self.ssrc)
        return header + extension + self.payload


def mid_extension(extension_id: int, mid: str) -> bytes:
    """The header extension that names the media section a packet belongs to (RFC 8843, section 15), in the
    form with one byte a header (RFC 8285, section 4.2): an extension_id of 1 to 14, a mid of 1 to 16 bytes.
    Empty where they do not fit: the SSRC, which the answer names, tells as much.
    """
    value = mid.encode()
    if not (1 <= extension_id <= 14 and 1 <= len(value) <= 16):
        return b""
    element = bytes((extension_id << 4 | len(value) - 1,)) + value
    element += bytes(-len(element) % 4)
    return _EXTENSION.pack(0xBEDE, len(element) // 4) + element


def is_stun(datagram: bytes) -> bool:
    """Whether a datagram is STUN (RFC 7983, section 7)."""
    return bool(datagram) and datagram[0] <= 3


def is_rtcp(datagram: bytes) -> bool:
    """Whether a datagram of media is control, not sound (RFC 5761, section 4)."""
    return len(datagram) > 1 and 192 <= datagram[1] <= 223


def is_media(datagram: bytes) -> bool:
    """Whether a datagram is RTP or RTCP, not STUN or DTLS (RFC 7983, section 7)."""
    return bool(datagram) and 128 <= datagram[0] <= 191


MIN_BUFFER_S = 0.04
"""What a browser's own buffer holds on an even line: 26-48 ms in Chromium."""
_JITTERS_KEPT = 2.0
"""How many times the mean deviation of arrivals a browser's buffer keeps beyond that, to miss few packets."""
_MAX_DELAY_S = 5.0
"""A report may say anything, and what is played is waited for by it."""


@dataclass(slots=True)
class Remote:
    """How far behind us a WebRTC caller hears: from what RTCP tells of the way and of its unevenness.

    lost: share of our packets that did not arrive lately, 0-1.
    """

    delay_s: float = MIN_BUFFER_S
    """How long after a frame is sent it is heard."""
    lost: float = 0.0

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Take a receiver report (RFC 3550, section 6.4.1). round_trip_s: None where it is not known yet."""
        self.lost = lost
        delay_s = (round_trip_s or 0.0) / 2 + MIN_BUFFER_S + _JITTERS_KEPT * jitter_s
        self.delay_s = min(max(0.0, delay_s), _MAX_DELAY_S)
