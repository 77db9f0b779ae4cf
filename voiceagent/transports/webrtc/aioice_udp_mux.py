"""One UDP socket for all WebRTC calls at one address of this machine: one port to let through a firewall, and
one socket to look at instead of one a call.

A datagram belongs to the call whose address it came from. An address is a call's once it has shown a key of
the call's: by a STUN request that is signed with it (RFC 8445, section 7.3), or by the answer to a request of
ours. So nobody takes a call's place who only knows its address. Two calls from one port of the remote cannot
be told apart: the later one has it.
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
"""The first and the last UDP port that may be used; 0, 0 for any."""
Address = tuple[str, int]
"""Host and port of the remote."""

_MAX_BYTES = 2_048
"""More than fits into a packet of Ethernet."""
_MAX_AT_ONCE = 256
"""Datagrams read before anything else has its turn."""
_MAX_WAITING = 256
"""Datagrams of a call that wait to be taken: all that are read at once. More are lost, as on a narrow line: a
call that is not connected yet takes none."""
_MAX_CANDIDATES = 64
"""Addresses that a call may be asked from: its offer names up to 32, and it may move. aioice checks each, and
sorts them all for each new one."""
_MAX_ADDRESSES = 16
"""Addresses of one call: of its candidates, and those that it moves to. The oldest is forgotten."""
MANY_CALLS = 8
"""With so many calls the socket is read in the rounds of the process, and not for each of their datagrams:
more than one comes in a round, as each call sends 50 a second, and work done together finds its code and data
in the caches.
"""
FEW_CALLS = 4
"""With fewer than these it is read at once again."""
_RECEIVE_BUFFER_BYTES = 1 << 20
"""Asked for: 40 calls send 400 KB a second. Linux gives no more than `net.core.rmem_max`."""


class Place(asyncio.DatagramTransport):
    """What one call has of the socket; to aioice it is a socket of its own."""

    def __init__(self, mux: UdpMux, connection: Connection) -> None:
        super().__init__({"sockname": mux.sockname})
        self.connection = connection
        self.protocol = StunProtocol(connection)
        self.protocol.connection_made(self)
        self._mux = mux
        self._closing = False

    def sendto(self, data: Any, addr: Any = None) -> None:
        """Send to the remote's address; what cannot be sent is lost."""
        self._mux.send(data, addr)

    def take(self, data: bytes) -> None:
        """Hand over a datagram of the call's own address."""
        if self.connection._queue.qsize() < _MAX_WAITING:
            self.connection.data_received(data, self.protocol.local_candidate.component)

    def has_room_for(self, address: Address) -> bool:
        """Whether the call may be asked from that address."""
        known = self.connection._remote_candidates
        return len(known) < _MAX_CANDIDATES or any((one.host, one.port) == address for one in known)

    def close(self) -> None:
        """Give it up; a second time does nothing."""
        if not self._closing:
            self._closing = True
            self._mux.leave(self)
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


class UdpMux:
    """The socket at one address. It is closed with the last call that has a place there; on_close is told.
    on_unreadable: called for each datagram that looked like STUN and was none.

    Raises OSError where none of `ports` is free.
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
        self._places: dict[str, Place] = {}  # by the user name that the call is asked for with
        self._place_of: dict[Address, Place] = {}
        self._unreadable = 0
        self._loop = asyncio.get_running_loop()
        self._rounds = rounds_of(self._loop)
        self._loop.add_reader(self._socket, self._read)

    def join(self, connection: Connection) -> StunProtocol:
        """A place for a call, whose user name no other may have."""
        place = Place(self, connection)
        self._places[connection.local_username] = place
        return place.protocol

    def send(self, data: bytes, address: Address) -> None:
        """Send a datagram; what cannot be sent is lost, as on the way."""
        try:
            self._socket.sendto(data, address)
        except OSError as error:
            log.debug("datagram_not_sent", to=address, reason=str(error))

    def leave(self, place: Place) -> None:
        """Give up a place; nothing is sent to it or from it any more."""
        del self._places[place.connection.local_username]
        self._place_of = {address: one for address, one in self._place_of.items() if one is not place}
        if not self._places:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._on_close()

    def _read(self) -> None:
        """Something came."""
        if self._drain() and len(self._places) >= MANY_CALLS:
            self._loop.remove_reader(self._socket)
            self._rounds.join(self._read_in_round)

    def _read_in_round(self) -> None:
        if self._drain() and len(self._places) >= FEW_CALLS:
            return
        self._rounds.leave(self._read_in_round)
        if self._places:  # else the socket is closed
            self._loop.add_reader(self._socket, self._read)

    def _drain(self) -> bool:
        """Take what has come; whether anything had, and the socket is still open."""
        for number in range(_MAX_AT_ONCE):
            try:
                data, address = self._socket.recvfrom(_MAX_BYTES)
            except OSError:  # nothing is left; or word of a datagram that did not arrive
                return number > 0 and bool(self._places)
            try:
                self._take(data, address[:2])
            except Exception as error:  # whatever it is, the other calls go on
                context = {"message": "taking in a datagram failed", "exception": error}
                self._loop.call_exception_handler(context)
        return True

    def _take(self, data: bytes, address: Address) -> None:
        if is_stun(data):
            self._take_stun(data, address)
        elif data and (place := self._place_of.get(address)):
            place.take(data)

    def _take_stun(self, data: bytes, address: Address) -> None:
        try:
            message = stun.parse_message(data)
        except Exception:  # ValueError, or what the parsers of attributes came upon
            self._drop()
            return
        if message.message_class == stun.Class.REQUEST:
            self._take_request(message, address)
        elif place := self._asking(message.transaction_id, address):
            if address not in self._place_of:
                self._give(address, place)
            place.protocol.transactions[message.transaction_id].response_received(message, address)

    def _drop(self) -> None:
        """What cannot be read is counted; a flood of it writes a few lines."""
        self._on_unreadable()
        self._unreadable += 1
        if self._unreadable & (self._unreadable - 1) == 0:  # 1, 2, 4, 8, ...
            log.warning("datagrams_not_read", count=self._unreadable)

    def _asking(self, transaction_id: bytes, address: Address) -> Place | None:
        """The call that waits for the answer to this request."""
        likely = self._place_of.get(address)
        if likely is not None and transaction_id in likely.protocol.transactions:
            return likely
        asking = (place for place in self._places.values() if transaction_id in place.protocol.transactions)
        return next(asking, None)

    def _take_request(self, message: stun.Message, address: Address) -> None:
        """Hand a request to the call it names; the address is that call's if the request is signed."""
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
        """What comes from there is that call's from now on."""
        before = [known for known, one in self._place_of.items() if one is place]
        if len(before) == _MAX_ADDRESSES:
            del self._place_of[before[0]]
        self._place_of[address] = place


def _bound(host: str, ports: Ports) -> socket.socket:
    """A socket on the first port of the range that is free. Raises OSError."""
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
