"""Socket between two processes, used in an event loop: messages in, frames out, batched in one write."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from voiceagent.processes.messages import FrameReader, Message
from voiceagent.processes.rounds import ROUND_S, InRound, rounds_of

FLUSH_INTERVAL_S = 3 * ROUND_S
"""Maximum delay of a low-priority message, which saves wake-ups of the other process. It is sent at a whole
multiple of this, so that all sockets of a process are written in one wake-up.
"""
_READ_BYTES = 1 << 18


class FrameSocket:
    """One end of a socket between two processes, which carries messages.

    take: called with each message and its size in bytes. lost: called when no more can arrive.

    It may be used in one event loop after another, one at a time, as the engines of scripts and tests outlive
    a loop. So it reads its socket itself, as a transport belongs to one loop.
    """

    def __init__(
        self, connection: socket.socket, take: Callable[[Message, int], None], lost: Callable[[], None]
    ) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._take = take
        self._lost = lost
        self._frames = FrameReader()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unsent = bytearray()
        self._flushing: asyncio.Handle | InRound | None = None
        self._flushes_soon = False
        self._blocked = False
        self._closed = False

    def attach(self) -> bool:
        """Read in the running event loop. Return True if it was attached to another one before."""
        loop = asyncio.get_running_loop()
        if self._closed or loop is self._loop:
            return False
        moved = self._loop is not None
        self._detach()
        self._loop = loop
        loop.add_reader(self._socket, self._readable)
        if self._unsent:
            self.write(b"")
        return moved

    def close(self) -> None:
        """Close the socket, dropping unsent data."""
        self._closed = True
        self._detach()
        self._socket.close()
        self._unsent.clear()

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the socket has not accepted yet."""
        return len(self._unsent)

    def write(self, frame: bytes, soon: bool = True) -> None:
        """Queue a frame. Frames queued in one iteration of the event loop are sent together, with earlier
        delayed ones.

        soon: if False, the frame may be delayed by up to `FLUSH_INTERVAL_S`.
        """
        if self._closed:
            return
        self._unsent += frame
        if self._loop is None or self._blocked or (self._flushing is not None and self._flushes_soon >= soon):
            return
        self._cancel_flush()
        self._flushes_soon = soon
        self._flushing = (
            self._loop.call_soon(self.flush)
            if soon
            else rounds_of(self._loop).call_later(
                FLUSH_INTERVAL_S - self._loop.time() % FLUSH_INTERVAL_S, self.flush
            )
        )

    def flush(self) -> None:
        """Send as much as the socket accepts now, and the rest when it is writable."""
        self._cancel_flush()
        if self._closed or self._loop is None or not self._unsent:
            return
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._unsent.clear()  # the reader will see the end of the stream
        if self._unsent:
            # the kernel's buffer is full: send the rest, and later frames, when the socket is writable
            self._loop.add_writer(self._socket, self.flush)
            self._blocked = True
        elif self._blocked:
            self._loop.remove_writer(self._socket)
            self._blocked = False

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            # reset by a process that was killed: the same as its end
            data = b""
        if not data:
            self._lost()
            return
        try:
            for message, size in self._frames.feed(data):
                self._take(message, size)
        except BaseException:
            self._lost()  # frames after an unreadable message cannot be read either
            raise

    def _detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._cancel_flush()
        self._loop = self._flushing = None
        self._blocked = False

    def _cancel_flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
