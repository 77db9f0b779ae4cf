"""Keys in RTP (RFC 4733): payloads of telephone events, to send and as received."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

_PAYLOAD = Struct("!BBH")
_END = 0x80
KEYS = "0123456789*#ABCD"
"""Keys by event code (RFC 4733, section 3.2)."""
VOLUME_DB = 10
"""Power below 0 dBm0, as senders usually have it."""
EVENT_FRAMES = 5
"""Length of a key in packets of 20 ms."""
END_PACKETS = 3
"""Times that the last packet is sent, as it may be lost (section 2.5.1.4)."""


class EventFormat(NamedTuple):
    """Telephone events as agreed. rate_hz: of their durations; their RTP timestamps are the audio's, as in
    browsers.
    """

    payload_type: int
    rate_hz: int


class EventPacket(NamedTuple):
    """A packet of an event. frame: the 20 ms frame after the beginning of the event at which it is sent.
    first: the first packet, which has RTP's marker.
    """

    frame: int
    payload: bytes
    first: bool


def event_packets(key: str, frame_ticks: int) -> Iterator[EventPacket]:
    """Yield the packets of a key, all with the RTP time of its beginning. frame_ticks: units per 20 ms."""
    code = KEYS.index(key)
    for frame in range(1, EVENT_FRAMES + 1):
        is_last = frame == EVENT_FRAMES
        payload = _PAYLOAD.pack(code, VOLUME_DB | (_END if is_last else 0), frame * frame_ticks)
        for number in range(END_PACKETS if is_last else 1):
            yield EventPacket(frame, payload, first=frame == 1 and number == 0)


class EventReceiver:
    """Receiver of keys. An event has many packets; one that arrives makes the key."""

    def __init__(self) -> None:
        self._timestamp: int | None = None

    def on_packet(self, payload: bytes, timestamp: int) -> str:
        """Handle a packet. Return the key that begins with it, "" if none does."""
        if len(payload) < _PAYLOAD.size:
            return ""
        code, _, _ = _PAYLOAD.unpack_from(payload)
        if code >= len(KEYS) or not self._is_new(timestamp):
            return ""
        self._timestamp = timestamp
        return KEYS[code]

    def _is_new(self, timestamp: int) -> bool:
        """Return True if the timestamp is later than that of the last event; timestamps wrap."""
        return self._timestamp is None or 0 < (timestamp - self._timestamp) & 0xFFFFFFFF < 1 << 31
