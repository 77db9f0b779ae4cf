"""Protection of aiortc's SCTP, which carries a call's events, against hostile packets.

aiortc loops endlessly on some packets and works on others for seconds. They are dropped here, as if lost in
the network: legitimate ones are retransmitted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from aiortc import RTCSctpTransport, rtcsctptransport
from aiortc.rtcsctptransport import Chunk, DataChunk, SackChunk, tsn_plus_one

from voiceagent.transports.limits import PACKET_BYTES, Allowance
from voiceagent.transports.webrtc.aiortc_internals import unreadable_dropped

_MAX_FRAGMENTS = 1_024
"""Maximum number of fragments of incomplete messages: a megabyte takes 900. Each one scans all the others."""
_MAX_EARLY = 256
"""Maximum number of chunks after a missing one; each one sorts all of them."""
_MAX_ACKNOWLEDGED = 1_024
"""Maximum number of chunks that a packet may acknowledge after a missing one: more than ever in flight."""
_PARAMETER_BYTES = 4


def decode_params(body: bytes) -> list[tuple[int, bytes]]:
    """Return a chunk's parameters (RFC 9260, section 3.2.1). Raise ValueError for one shorter than its head:
    aiortc would loop on it.
    """
    parameters, at = [], 0
    while at <= len(body) - _PARAMETER_BYTES:
        length = int.from_bytes(body[at + 2 : at + 4])
        if length < _PARAMETER_BYTES:
            raise ValueError(f"a parameter of {length} bytes")
        kind = int.from_bytes(body[at : at + 2])
        parameters.append((kind, body[at + _PARAMETER_BYTES : at + length]))
        at += length + -length % 4
    return parameters


rtcsctptransport.decode_params = decode_params


def drop_unsendable(events: RTCSctpTransport) -> None:
    """Ignore chunks to send after the transport has closed. aiortc raises there, in tasks that are never
    awaited, and logging each traceback stalls all calls.
    """
    send_chunk = events._send_chunk

    async def send(chunk: Chunk) -> None:
        with suppress(ConnectionError):
            await send_chunk(chunk)

    events._send_chunk = send  # type: ignore[method-assign]


class LimitedEvents:
    """Limits of a call's events. Drops unreadable packets, for which aiortc raises, and those beyond the
    limits. Calls `give_up` with the reason if the caller opens too many channels or sends messages that never
    end. allowance: rate limit.
    """

    def __init__(
        self,
        events: RTCSctpTransport,
        max_channels: int,
        allowance: Allowance,
        give_up: Callable[[str], None],
    ) -> None:
        self._events = events
        self._max_channels = max_channels
        self._allowance = allowance
        self._give_up = give_up
        self._given_up = False
        self._handle_data, self._receive_chunk = events._handle_data, events._receive_chunk
        events._handle_data = self._handle  # type: ignore[method-assign]
        events._receive_chunk = self._receive  # type: ignore[method-assign]

    async def _handle(self, data: bytes) -> None:
        if self._allowance.spend(len(data), time.monotonic):
            with unreadable_dropped():
                await self._handle_data(data)

    async def _receive(self, chunk: Chunk) -> None:
        if not self._allowance.spend(PACKET_BYTES, time.monotonic):
            return
        if isinstance(chunk, SackChunk):
            claimed = sum(max(0, last - first + 1) for first, last in chunk.gaps)
            if claimed <= _MAX_ACKNOWLEDGED:  # also in an ending call, so that its last messages are sent
                await self._receive_chunk(chunk)
        elif not self._given_up and not self._is_early(chunk):
            await self._receive_chunk(chunk)
            self._check()

    def _is_early(self, chunk: Chunk) -> bool:
        """Return True if a chunk is out of order and too many others are already."""
        if not isinstance(chunk, DataChunk) or len(self._events._sack_misordered) < _MAX_EARLY:
            return False
        tsn: int = chunk.tsn
        last = self._events._last_received_tsn
        return last is None or tsn != tsn_plus_one(last)

    def _check(self) -> None:
        streams = self._events._inbound_streams
        reason = ""
        if len(streams) > self._max_channels:
            reason = f"more than {self._max_channels} data channels were opened"
        elif self._events._advertised_rwnd < 0 or any(
            len(stream.reassembly) > _MAX_FRAGMENTS for stream in streams.values()
        ):
            reason = f"a message has more than {_MAX_FRAGMENTS} pieces, or is longer than 1 MB"
        if reason:
            self._given_up = True
            self._give_up(reason)
