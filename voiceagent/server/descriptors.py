"""Accepting connections while file descriptors run out."""

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
"""Connections accepted per wake-up, before the event loop continues."""
RESERVE = 24
"""Descriptors kept free for running calls; with fewer, the process accepts no connections."""
PAUSE_S = 0.1
"""Pause of accepting after not even the reserve descriptor could be restored."""
LOG_INTERVAL_S = 5.0
"""Time between two log lines about one shortage."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_limit() -> None:
    """Raise the limit of file descriptors, of this process and its children, to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def nearly_out() -> bool:
    """Return True if hardly a descriptor is free. A new one is the lowest free number, so about as many are
    in use.
    """
    try:
        lowest = os.dup(0)
    except OSError:
        return True
    os.close(lowest)
    return lowest >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVE


class DescriptorShortage:
    """Logs, at most every `LOG_INTERVAL_S`, how many connections were closed for lack of a descriptor."""

    def __init__(self) -> None:
        self._closed = 0
        self._logged_s = -LOG_INTERVAL_S

    def note(self) -> None:
        """Count a connection that was closed for lack of a descriptor."""
        self._closed += 1
        now_s = time.monotonic()
        if now_s - self._logged_s >= LOG_INTERVAL_S:
            log.error("descriptors_exhausted", connections_closed=self._closed)
            self._closed, self._logged_s = 0, now_s


class Acceptor:
    """Accepts the connections of a listening socket, and keeps working when descriptors run out.

    One descriptor is reserved: it is freed to accept the pending connection, and to close it. So callers are
    refused at once, and the event loop does not spin on a connection that it cannot accept.
    """

    def __init__(self, listening: socket.socket, on_connection: Callable[[socket.socket], None]) -> None:
        self._listening = listening
        self._on_connection = on_connection
        self._shortage = DescriptorShortage()
        self._reserve: int | None = os.dup(listening.fileno())
        listening.setblocking(False)
        self._open()

    def close(self) -> None:
        """Stop accepting."""
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
            except OSError as error:  # no descriptor is free, or the connection is gone
                if error.errno not in _EXHAUSTED or not self._refuse():
                    return
            else:
                self._on_connection(connection)

    def _refuse(self) -> bool:
        """Close the pending connection. Return True if there may be another."""
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None
        try:
            self._listening.accept()[0].close()
            self._shortage.note()
        except BlockingIOError:
            return self._restore_reserve()
        except OSError:
            pass
        return self._restore_reserve()

    def _restore_reserve(self) -> bool:
        try:
            self._reserve = os.dup(self._listening.fileno())
        except OSError:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._listening)
            loop.call_later(PAUSE_S, self._open)
            return False
        return True
