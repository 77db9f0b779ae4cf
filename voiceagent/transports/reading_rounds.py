"""Batched reading: many connections are read together in ticks, because each wake-up of the process is
expensive.

A wake-up costs more than the packet that caused it, because other processes have used the CPU's caches
meanwhile. 20 unsynchronised phone calls caused 640 wake-ups a second, two fifths of the CPU time; with ticks
there are 160. A packet waits half a tick on average, and is processed in the tick in which it is read. With
few calls, each is read immediately.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from voiceagent.processes.rounds import Rounds, rounds_of

MANY = 8
"""With more connections than this, they are read in ticks."""
FEW = 4
"""With fewer than this, they are read immediately again."""
BUFFER_BYTES = 262_144
"""Maximum number of bytes read from one connection per tick; the rest stays in the kernel."""

_reading: WeakKeyDictionary[asyncio.AbstractEventLoop, ReadingRounds] = WeakKeyDictionary()


def reading_of(loop: asyncio.AbstractEventLoop) -> ReadingRounds:
    if loop not in _reading:
        _reading[loop] = ReadingRounds(rounds_of(loop))
    return _reading[loop]


def _ignore(_: bytes) -> None:
    """Do nothing: data after the end of a connection is dropped."""


class ReadingRounds:
    """Reader of its members in `rounds` while they are many. Uses the running event loop."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._members: dict[RoundTransport, None] = {}
        self._epoll: select.epoll | None = None  # of the watched members; None while members are few
        self._watched: dict[int, RoundTransport] = {}
        self._buffer = bytearray()

    @property
    def gathered(self) -> bool:
        """True while members are read in ticks."""
        return self._epoll is not None

    def join(self, member: RoundTransport) -> None:
        self._members[member] = None
        if self.gathered:
            member.follow()
        elif len(self._members) > MANY:
            try:
                self._epoll = select.epoll()
            except OSError:  # no descriptor left: read immediately, as with few members
                return
            self._buffer = bytearray(BUFFER_BYTES)
            self._rounds.join(self._read)
            self._tell_members()

    def leave(self, member: RoundTransport) -> None:
        """Remove a member. Idempotent."""
        self._members.pop(member, None)
        if self._epoll is not None and len(self._members) < FEW:
            self._epoll.close()
            self._epoll, self._buffer = None, bytearray()
            self._watched.clear()
            self._rounds.leave(self._read)
            self._tell_members()

    def watch(self, descriptor: int, member: RoundTransport) -> None:
        """Read a descriptor from the next tick on."""
        if self._epoll is not None:
            self._epoll.register(descriptor, select.EPOLLIN)
            self._watched[descriptor] = member

    def forget(self, descriptor: int) -> None:
        """Stop reading a descriptor. Call before closing it: the next connection may get the same number."""
        if self._watched.pop(descriptor, None) is not None and self._epoll is not None:
            self._epoll.unregister(descriptor)

    def _tell_members(self) -> None:
        for member in list(self._members):
            member.follow()

    def _read(self) -> None:
        """Read all watched descriptors and pass the data to their members."""
        if self._epoll is None:
            return
        for descriptor, _ in self._epoll.poll(0):
            member = self._watched.get(descriptor)
            if member is None:  # it has left in this tick
                continue
            try:
                received = os.readv(descriptor, (self._buffer,))
            except BlockingIOError:
                continue
            except OSError:
                received = 0  # the transport's own read will find the error
            member.received(bytes(memoryview(self._buffer)[:received]))


class RoundTransport(asyncio.Transport):
    """A transport that its event loop reads, or `ReadingRounds` once it has joined.

    data_received: receives the data read in a tick.
    """

    def __init__(
        self, transport: asyncio.Transport, data_received: Callable[[bytes], None], rounds: ReadingRounds
    ) -> None:
        self._transport = transport
        self._data_received = data_received
        self._rounds = rounds
        self._descriptor: int | None = None  # set while joined
        self._watched = self._paused = False

    def join(self) -> None:
        """Join the reading ticks. Does nothing for a transport without a socket."""
        socket = self._transport.get_extra_info("socket")
        if socket is not None and not self._transport.is_closing():
            self._descriptor = socket.fileno()
            self._rounds.join(self)

    def leave(self) -> None:
        """Leave the reading ticks; the event loop reads again."""
        if self._descriptor is not None:
            self._part()
            self.follow()

    def follow(self) -> None:
        """Read in ticks while these have begun, else by the event loop. A paused transport reads nothing."""
        if self._transport.is_closing():
            return
        if self._descriptor is None or not self._rounds.gathered:
            self._watched = False
            if not self._paused:
                self._transport.resume_reading()
        elif not self._watched and not self._paused:
            self._transport.pause_reading()
            self._watched = True
            self._rounds.watch(self._descriptor, self)

    def received(self, data: bytes) -> None:
        """Handle data read in a tick. Empty data, the stream's end, is for the transport's own read."""
        if not data:
            self.leave()
            return
        try:
            self._data_received(data)
        except Exception as error:  # any error of the protocol: it must not affect other connections
            context = {"message": "taking what was read failed", "exception": error, "transport": self}
            asyncio.get_running_loop().call_exception_handler(context)
            self.abort()

    def _forget(self) -> None:
        if self._watched and self._descriptor is not None:
            self._rounds.forget(self._descriptor)
            self._watched = False

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        self._paused = True
        if self._watched:
            self._forget()
        else:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        self.follow()

    def close(self) -> None:
        self._part()
        self._transport.close()

    def abort(self) -> None:
        """Close immediately."""
        self._part()
        self._transport.abort()

    def lost(self) -> None:
        """Leave the ticks after the connection was closed: its descriptor may be reused."""
        self._part()
        self._data_received = _ignore  # breaks the reference cycle with the protocol

    def _part(self) -> None:
        if self._descriptor is not None:
            self._forget()
            self._descriptor = None
            self._rounds.leave(self)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return optional information about the transport."""
        return self._transport.get_extra_info(name, default)
