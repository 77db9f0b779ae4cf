"""RTP (RFC 3550), as far as one audio stream needs it: packets, header extensions, the remote's delay."""

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
    marker: first packet after a silence (RFC 3551, section 4.1).
    """

    payload_type: int
    sequence_number: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False

    @classmethod
    def parse(cls, data: bytes) -> RtpPacket | None:
        """Parse a datagram. Return None if it is not a valid RTP packet."""
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
        """Return the packet as a datagram. extension: with its header, as made by `mid_extension`."""
        first = _VERSION | _EXTENDED if extension else _VERSION
        second = _MARKER | self.payload_type if self.marker else self.payload_type
        header = _HEADER.pack(first, second, self.sequence_number, self.timestamp, self.ssrc)
        return header + extension + self.payload


def mid_extension(extension_id: int, mid: str) -> bytes:
    """Return the header extension that names the packet's media section (RFC 8843, section 15), in the
    one-byte form (RFC 8285, section 4.2): extension_id from 1 to 14, mid of 1 to 16 bytes.

    Empty if they do not fit: the SSRC, which is in the answer, identifies the section as well.
    """
    value = mid.encode()
    if not (1 <= extension_id <= 14 and 1 <= len(value) <= 16):
        return b""
    element = bytes((extension_id << 4 | len(value) - 1,)) + value
    element += bytes(-len(element) % 4)
    return _EXTENSION.pack(0xBEDE, len(element) // 4) + element


def is_stun(datagram: bytes) -> bool:
    """Return True for STUN (RFC 7983, section 7)."""
    return bool(datagram) and datagram[0] <= 3


def is_rtp(datagram: bytes) -> bool:
    """Return True for RTP, False for RTCP (RFC 5761, section 4) and all else."""
    is_rtcp = len(datagram) > 1 and 192 <= datagram[1] <= 223
    return not is_rtcp and is_media(datagram)


def is_media(datagram: bytes) -> bool:
    """Return True for RTP or RTCP, False for STUN or DTLS (RFC 7983, section 7)."""
    return bool(datagram) and 128 <= datagram[0] <= 191


MIN_BUFFER_S = 0.04
"""Jitter buffer of a browser on a stable network: 26-48 ms in Chromium."""
_JITTERS_KEPT = 2.0
"""Jitter buffer beyond that, in mean deviations of the arrival time: few packets then miss their playout."""
_MAX_DELAY_S = 5.0
"""Limit, because playout waits for this delay and reports are untrusted."""


@dataclass(slots=True)
class Remote:
    """Playout delay of a WebRTC caller, from RTCP's round trip and jitter.

    lost: recent packet loss, 0-1.
    """

    delay_s: float = MIN_BUFFER_S
    """Seconds from sending a frame to its playout."""
    lost: float = 0.0

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Handle a receiver report (RFC 3550, section 6.4.1). round_trip_s: None if not known yet."""
        self.lost = lost
        delay_s = (round_trip_s or 0.0) / 2 + MIN_BUFFER_S + _JITTERS_KEPT * jitter_s
        self.delay_s = min(max(0.0, delay_s), _MAX_DELAY_S)
