"""Many connections are read together, in rounds, as each would wake the process by itself.

A wake-up costs more than the packet that caused it: in between, another has had the processor's caches. With
20 phone calls that come as they like there were 640 wake-ups a second, which took two fifths of the CPU time;
in rounds 160 are left. A packet waits half a round at the mean, and is then judged in the round it came in.
Where calls are few, each is read at once.
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
"""More connections than these are read in rounds."""
FEW = 4
"""Fewer than these are read at once again."""
BUFFER_BYTES = 262_144
"""Taken from one connection in one round; the rest waits in the kernel for the next."""

_reading: WeakKeyDictionary[asyncio.AbstractEventLoop, ReadingRounds] = WeakKeyDictionary()


def reading_of(loop: asyncio.AbstractEventLoop) -> ReadingRounds:
    """What reads in the rounds of an event loop."""
    if loop not in _reading:
        _reading[loop] = ReadingRounds(rounds_of(loop))
    return _reading[loop]


def _ignore(_: bytes) -> None:
    """Nobody takes it any more."""


class ReadingRounds:
    """Reads its members in `rounds` for as long as they are many. The event loop is the running one."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._members: dict[RoundTransport, None] = {}
        self._epoll: select.epoll | None = None  # of those that are watched; None while members are few
        self._watched: dict[int, RoundTransport] = {}
        self._buffer = bytearray()

    @property
    def gathered(self) -> bool:
        """Whether members are read in rounds now."""
        return self._epoll is not None

    def join(self, member: RoundTransport) -> None:
        """Read this one with the others."""
        self._members[member] = None
        if self.gathered:
            member.follow()
        elif len(self._members) > MANY:
            try:
                self._epoll = select.epoll()
            except OSError:  # no descriptor is left: they are read at once, as few are
                return
            self._buffer = bytearray(BUFFER_BYTES)
            self._rounds.join(self._read)
            self._tell_members()

    def leave(self, member: RoundTransport) -> None:
        """Read this one no more. A second call does nothing."""
        self._members.pop(member, None)
        if self._epoll is not None and len(self._members) < FEW:
            self._epoll.close()
            self._epoll, self._buffer = None, bytearray()
            self._watched.clear()
            self._rounds.leave(self._read)
            self._tell_members()

    def watch(self, descriptor: int, member: RoundTransport) -> None:
        """From the next round on, read what comes there."""
        if self._epoll is not None:
            self._epoll.register(descriptor, select.EPOLLIN)
            self._watched[descriptor] = member

    def forget(self, descriptor: int) -> None:
        """Do not read there; before the descriptor is closed, as the next connection may have the same."""
        if self._watched.pop(descriptor, None) is not None and self._epoll is not None:
            self._epoll.unregister(descriptor)

    def _tell_members(self) -> None:
        for member in list(self._members):
            member.follow()

    def _read(self) -> None:
        """Hand over what has come to each."""
        if self._epoll is None:
            return
        for descriptor, _ in self._epoll.poll(0):
            member = self._watched.get(descriptor)
            if member is None:  # it has left in this round
                continue
            try:
                received = os.readv(descriptor, (self._buffer,))
            except BlockingIOError:
                continue
            except OSError:
                received = 0  # the transport finds out what is wrong
            member.received(bytes(memoryview(self._buffer)[:received]))


class RoundTransport(asyncio.Transport):
    """A transport that is read by its event loop, and in rounds once it has joined them.

    data_received: is given what was read in a round.
    """

    def __init__(
        self, transport: asyncio.Transport, data_received: Callable[[bytes], None], rounds: ReadingRounds
    ) -> None:
        self._transport = transport
        self._data_received = data_received
        self._rounds = rounds
        self._descriptor: int | None = None  # once it has joined
        self._watched = self._paused = False

    def join(self) -> None:
        """Be read in rounds while many are; what has no socket is not."""
        socket = self._transport.get_extra_info("socket")
        if socket is not None and not self._transport.is_closing():
            self._descriptor = socket.fileno()
            self._rounds.join(self)

    def leave(self) -> None:
        """Be read by the event loop, as before."""
        if self._descriptor is not None:
            self._forget()
            self._descriptor = None
            self._rounds.leave(self)
            self.follow()

    def follow(self) -> None:
        """Be read as the rounds are now, unless reading is paused."""
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
        """Take what was read in a round; nothing is the end, which the transport finds in its own way."""
        if not data:
            self.leave()
            return
        try:
            self._data_received(data)
        except Exception as error:  # the protocol's, whatever it is: it must hurt no other connection
            context = {"message": "taking what was read failed", "exception": error, "transport": self}
            asyncio.get_running_loop().call_exception_handler(context)
            self.abort()

    def _forget(self) -> None:
        if self._watched and self._descriptor is not None:
            self._rounds.forget(self._descriptor)
            self._watched = False

    def pause_reading(self) -> None:
        """Read nothing until `resume_reading`."""
        self._paused = True
        if self._watched:
            self._forget()
        else:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._paused = False
        self.follow()

    def close(self) -> None:
        """Send what waits, and close."""
        self._part()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._part()
        self._transport.abort()

    def lost(self) -> None:
        """The connection is closed: its descriptor is another's soon."""
        self._part()
        self._data_received = _ignore  # the protocol holds this

    def _part(self) -> None:
        if self._descriptor is not None:
            self._forget()
            self._descriptor = None
            self._rounds.leave(self)

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send."""
        self._transport.write(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known of the connection."""
        return self._transport.get_extra_info(name, default)
