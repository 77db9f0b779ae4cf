"""What becomes of connections when a process has no file descriptor left for them."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()

ACCEPTED_AT_ONCE = 16
"""How many connections are accepted at once; then the rest of the process gets its turn."""
RESERVE = 24
"""With fewer descriptors left a process takes no more connections: its calls need some as they go on."""
PAUSE_S = 0.1
"""How long nothing is accepted after not even the reserve could be had."""
TELL_S = 5.0
"""Time between two log lines about one shortage."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_limit() -> None:
    """Raise the limit on file descriptors, of this process and those it starts, as far as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def nearly_out() -> bool:
    """Whether hardly a descriptor is left. A new one is the lowest that is free: about as many are in use."""
    try:
        lowest = os.dup(0)
    except OSError:
        return True
    os.close(lowest)
    return lowest >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVE


class Shortage:
    """Tells in the log, once in a while, how many connections were closed for want of a descriptor."""

    def __init__(self) -> None:
        self._closed = 0
        self._told_s = -TELL_S

    def note(self) -> None:
        """A connection was closed."""
        self._closed += 1
        now_s = time.monotonic()
        if now_s - self._told_s >= TELL_S:
            log.error("descriptors_exhausted", connections_closed=self._closed)
            self._closed, self._told_s = 0, now_s


class Door:
    """Accepts the connections of a listening socket, and goes on doing so when descriptors run out.

    One is kept in reserve: it is given up to accept the connection that waits, and to close it. A caller is
    refused at once then, and the loop does not turn round and round for a connection that it cannot take.
    """

    def __init__(self, listening: socket.socket, take: Callable[[socket.socket], None]) -> None:
        self._listening = listening
        self._take = take
        self._shortage = Shortage()
        self._reserve: int | None = os.dup(listening.fileno())
        listening.setblocking(False)
        self._open()

    def close(self) -> None:
        """Accept no more."""
        asyncio.get_running_loop().remove_reader(self._listening)
        self._listening.close()
        if self._reserve is not None:
            os.close(self._reserve)

    def _open(self) -> None:
        if self._listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                connection, _address = self._listening.accept()
            except OSError as error:  # none is left, or it has gone already
                if error.errno not in _EXHAUSTED or not self._refuse():
                    return
            else:
                self._take(connection)

    def _refuse(self) -> bool:
        """Close the connection that waits; whether there may be another."""
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None
        try:
            self._listening.accept()[0].close()
            self._shortage.note()
        except BlockingIOError:
            return self._take_reserve()
        except OSError:
            pass
        return self._take_reserve()

    def _take_reserve(self) -> bool:
        try:
            self._reserve = os.dup(self._listening.fileno())
        except OSError:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._listening)
            loop.call_later(PAUSE_S, self._open)
            return False
        return True
