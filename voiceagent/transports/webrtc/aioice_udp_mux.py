"""One UDP socket for all WebRTC calls at one address of this machine: one port in the firewall, and one
socket to poll.

Datagrams are routed to calls by their source address. An address belongs to a call once it has proved
knowledge of the call's key: by a signed STUN request (RFC 8445, section 7.3), or by the answer to our
request. So knowing a call's address is not enough to hijack it. Two calls from one remote port cannot be
distinguished: the later one gets its datagrams.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import structlog
from aioice import stun
from aioice.ice import Connection, StunProtocol

from voiceagent.processes.rounds import rounds_of
from voiceagent.transports.webrtc.rtp import is_stun

log = structlog.get_logger()

Ports = tuple[int, int]
"""First and last usable UDP port; 0, 0 for any."""
Address = tuple[str, int]
"""Host and port of the remote."""

_MAX_BYTES = 2_048
"""More than the payload of an Ethernet packet."""
_MAX_AT_ONCE = 256
"""Maximum number of datagrams read before other work runs."""
_MAX_WAITING = 256
"""Queued datagrams per call: as many as are read at once. Others are dropped, as in a congested network; a
call that is not connected yet reads none.
"""
_MAX_CANDIDATES = 64
"""Maximum number of remote candidates of a call: an offer has up to 32, and the remote may move. aioice
checks each, and sorts all of them for each new one.
"""
_MAX_ADDRESSES = 16
"""Maximum number of addresses of one call: candidates, and those it moves to. The oldest is removed."""
MANY_CALLS = 8
"""From so many calls on, the socket is read in the process's ticks instead of on each datagram: each call
sends 50 a second, so a tick reads several, and batched work finds code and data in the CPU's caches.
"""
FEW_CALLS = 4
"""With fewer calls than this, the socket is read immediately again."""
_RECEIVE_BUFFER_BYTES = 1 << 20
"""Requested size: 40 calls send 400 KB a second. Linux limits it to `net.core.rmem_max`."""


class Place(asyncio.DatagramTransport):
    """Share of one call in the socket; a socket of its own to aioice."""

    def __init__(self, mux: UdpMux, connection: Connection) -> None:
        super().__init__({"sockname": mux.sockname})
        self.connection = connection
        self.protocol = StunProtocol(connection)
        self.protocol.connection_made(self)
        self._mux = mux
        self._closing = False

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send a datagram. Errors are ignored, as datagrams may be lost."""
        self._mux.send(data, addr)

    def deliver(self, data: bytes) -> None:
        """Deliver a datagram from one of the call's addresses."""
        if self.connection._queue.qsize() < _MAX_WAITING:
            self.connection.data_received(data, self.protocol.local_candidate.component)

    def has_room_for(self, address: Address) -> bool:
        """Return True if the address is a known candidate, or another one is allowed."""
        known = self.connection._remote_candidates
        return len(known) < _MAX_CANDIDATES or any((one.host, one.port) == address for one in known)

    def close(self) -> None:
        """Leave the socket. Idempotent."""
        if not self._closing:
            self._closing = True
            self._mux.leave(self)
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


class UdpMux:
    """Socket at one address. It closes with its last call, and calls on_close.

    on_unreadable: called for each datagram that looked like STUN but was invalid. Raise OSError if none of
    `ports` is free.
    """

    def __init__(
        self,
        host: str,
        ports: Ports,
        on_close: Callable[[], None],
        on_unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_close = on_close
        self._on_unreadable = on_unreadable
        self._socket = _bound(host, ports)
        self.sockname: Address = self._socket.getsockname()[:2]
        self._places: dict[str, Place] = {}  # by ICE user name
        self._place_of: dict[Address, Place] = {}
        self._unreadable = 0
        self._loop = asyncio.get_running_loop()
        self._rounds = rounds_of(self._loop)
        self._loop.add_reader(self._socket, self._read)

    def join(self, connection: Connection) -> StunProtocol:
        """Add a call, with a unique user name."""
        place = Place(self, connection)
        self._places[connection.local_username] = place
        return place.protocol

    def send(self, data: bytes, address: Address) -> None:
        """Send a datagram. Errors are ignored, as datagrams may be lost."""
        try:
            self._socket.sendto(data, address)
        except OSError as error:
            log.debug("datagram_send_failed", to=address, reason=str(error))

    def leave(self, place: Place) -> None:
        """Remove a call; its datagrams are no longer delivered or sent."""
        del self._places[place.connection.local_username]
        self._place_of = {address: one for address, one in self._place_of.items() if one is not place}
        if not self._places:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._on_close()

    def _read(self) -> None:
        """Read pending datagrams; with many calls, switch to reading in ticks."""
        if self._drain() and len(self._places) >= MANY_CALLS:
            self._loop.remove_reader(self._socket)
            self._rounds.join(self._read_in_round)

    def _read_in_round(self) -> None:
        if self._drain() and len(self._places) >= FEW_CALLS:
            return
        self._rounds.leave(self._read_in_round)
        if self._places:  # otherwise the socket is closed
            self._loop.add_reader(self._socket, self._read)

    def _drain(self) -> bool:
        """Process pending datagrams. Return True if there were any and the socket is still open."""
        for number in range(_MAX_AT_ONCE):
            try:
                data, address = self._socket.recvfrom(_MAX_BYTES)
            except OSError:  # no data left, or an ICMP error for a sent datagram
                return number > 0 and bool(self._places)
            try:
                self._on_datagram(data, address[:2])
            except Exception as error:  # whatever the error, other calls must continue
                context = {"message": "taking in a datagram failed", "exception": error}
                self._loop.call_exception_handler(context)
        return True

    def _on_datagram(self, data: bytes, address: Address) -> None:
        if is_stun(data):
            self._on_stun(data, address)
        elif data and (place := self._place_of.get(address)):
            place.deliver(data)

    def _on_stun(self, data: bytes, address: Address) -> None:
        try:
            message = stun.parse_message(data)
        except Exception:  # ValueError, or any error of the attribute parsers
            self._drop()
            return
        if message.message_class == stun.Class.REQUEST:
            self._take_request(message, address)
        elif place := self._asking(message.transaction_id, address):
            if address not in self._place_of:
                self._give(address, place)
            place.protocol.transactions[message.transaction_id].response_received(message, address)

    def _drop(self) -> None:
        """Count an invalid datagram. Logs at powers of two, so that a flood writes only a few lines."""
        self._on_unreadable()
        self._unreadable += 1
        if self._unreadable & (self._unreadable - 1) == 0:  # 1, 2, 4, 8, ...
            log.warning("datagrams_invalid", count=self._unreadable)

    def _asking(self, transaction_id: bytes, address: Address) -> Place | None:
        """Return the call that waits for the answer to this request."""
        likely = self._place_of.get(address)
        if likely is not None and transaction_id in likely.protocol.transactions:
            return likely
        asking = (place for place in self._places.values() if transaction_id in place.protocol.transactions)
        return next(asking, None)

    def _take_request(self, message: stun.Message, address: Address) -> None:
        """Route a request by its user name. If it is signed, the address becomes that call's."""
        place = self._places.get(message.attributes.get("USERNAME", "").partition(":")[0])
        if place is None:
            return
        key = place.connection.local_password.encode()
        if self._place_of.get(address) is not place and message.check_message_integrity(key):
            if not place.has_room_for(address):
                return
            self._give(address, place)
        place.connection.request_received(message, address, place.protocol)

    def _give(self, address: Address, place: Place) -> None:
        """Route an address to a call from now on."""
        before = [known for known, one in self._place_of.items() if one is place]
        if len(before) == _MAX_ADDRESSES:
            del self._place_of[before[0]]
        self._place_of[address] = place


def _bound(host: str, ports: Ports) -> socket.socket:
    """Return a socket on the first free port of the range. Raise OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    first, last = ports
    for port in range(first, last + 1):
        bound = socket.socket(family, socket.SOCK_DGRAM)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
            bound.bind((host, port))
        except OSError:
            bound.close()
        else:
            return bound
    raise OSError(f"no UDP port from {first} to {last} is free at {host}")
