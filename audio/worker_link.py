"""One worker process as its host sees it: started, spoken to, lost, started again, ended."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from audio.worker_channel import Channel
from audio.worker_messages import (
    Close,
    Credit,
    End,
    Error,
    Failed,
    FrameReader,
    Item,
    Message,
    Open,
    Ready,
    Start,
    encode,
)

STARTS_IN_A_ROW = 3
"""A worker that dies so often without ever being ready is given up."""

_BOOT = "import sys; from audio.worker import main; main(int(sys.argv[1]))"


def _never(value: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Served:
    """What a worker runs, and how its streams are treated.

    name: the engine's name in errors.
    engine: `package.module:Class` of an `audio.worker.Engine`; arguments: its keyword arguments.
    error: makes the exception that is raised for whatever goes wrong.
    send_window, receive_window: bytes of one stream that may be unread at the worker, and here. Beyond them
        the caller's iterator is not asked for more, and the worker passes the stream over.
    replaceable: says of an unread value that a newer one makes it worthless.
    """

    name: str
    engine: str
    arguments: Mapping[str, Any]
    error: Callable[[str], Exception]
    send_window: int = 1 << 16
    receive_window: int = 1 << 18
    replaceable: Callable[[Any], bool] = field(default=_never)


def _run_worker(connection: socket.socket) -> subprocess.Popen[bytes]:
    """A fresh interpreter that imports what this one can, with its end of the connection. Raises OSError."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _BOOT, str(connection.fileno())],
        pass_fds=[connection.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)},
    )


class _State(Enum):
    STOPPED = auto()
    STARTING = auto()
    READY = auto()
    GIVEN_UP = auto()


class WorkerLink:
    """One worker process and its streams.

    It follows the caller from one event loop to the next, as long as only one at a time uses it.
    """

    def __init__(self, served: Served) -> None:
        self.facts: dict[str, Any] = {}
        self.restarts = 0
        self._served = served
        self._state = _State.STOPPED
        self._reason = "not started"
        self._starts_left = 0
        self._numbers = itertools.count()
        self._channels: dict[int, Channel] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket
        self._frames: FrameReader
        self._unsent = bytearray()

    @property
    def busy(self) -> int:
        """Streams that are open."""
        return len(self._channels)

    @property
    def process_id(self) -> int | None:
        """Of the worker, while there is one."""
        return None if self._child is None else self._child.pid

    async def start(self) -> None:
        """Be ready to serve. Raises the engine's error."""
        if self._state in (_State.STOPPED, _State.GIVEN_UP):
            self._starts_left = 1  # what is wrong at first is wrong in the settings
            self._spawn()
        self._attach()
        while self._state is _State.STARTING:
            ready = asyncio.get_running_loop().create_future()
            self._waiting.append(ready)
            await ready
        if self._state is not _State.READY:
            raise self._error(self._reason)

    async def close(self) -> None:
        """End the worker, failing its streams; a second call does nothing."""
        self._attach()
        self._state = _State.STOPPED
        child = self._drop("closed")
        while child is not None and child.poll() is None:  # noqa: ASYNC110 - no event tells, without a thread
            await asyncio.sleep(0.002)

    def open(self) -> Channel:
        """A new stream. Raises the engine's error where no worker can be had."""
        if self._child is not None and self._child.poll() is not None:
            self._lost()  # it died while nobody was listening
        if self._state is _State.GIVEN_UP:
            raise self._error(f"given up after {STARTS_IN_A_ROW} starts that failed: {self._reason}")
        if self._state is _State.STOPPED:
            raise self._error(self._reason)
        self._attach()
        channel = Channel(next(self._numbers))
        self._channels[channel.number] = channel
        self._write(Open(channel.number))
        return channel

    def send_frame(self, channel: Channel, frame: bytes) -> None:
        """Send an item of the stream, already encoded."""
        if channel.number in self._channels:
            self._write_frame(frame)

    def finish(self, channel: Channel) -> None:
        """All items of the stream were sent."""
        if channel.number in self._channels:
            self._write(End(channel.number))

    def credit(self, channel: Channel, size: int) -> None:
        """So many bytes of the stream were read here."""
        if channel.number in self._channels:
            self._write(Credit(channel.number, size))

    def abandon(self, channel: Channel) -> None:
        """Nobody wants the stream any more. The worker is told, not waited for."""
        channel.end()
        if self._channels.pop(channel.number, None) is not None:
            self._write(Close(channel.number))

    def _spawn(self) -> None:
        """Start a worker and tell it what to build."""
        self._starts_left -= 1
        self._state, self._reason = _State.STARTING, ""
        self._frames = FrameReader()
        self._connection, theirs = socket.socketpair()
        self._connection.setblocking(False)
        try:
            self._child = _run_worker(theirs)
        except OSError as error:
            self._connection.close()
            self._state, self._reason = _State.GIVEN_UP, f"no process can be started: {error}"
            return
        finally:
            theirs.close()
        served = self._served
        self._write(Start(served.engine, dict(served.arguments), served.receive_window))

    def _attach(self) -> None:
        """Listen to the worker in the running loop; the streams of an earlier loop are abandoned."""
        loop = asyncio.get_running_loop()
        if self._child is None or loop is self._loop:
            return
        if self._loop is not None:
            self._detach()
            self._waiting.clear()
            for number in self._channels:
                self._unsent += encode(Close(number))
            self._channels.clear()
        self._loop = loop
        loop.add_reader(self._connection, self._readable)
        if self._unsent:
            loop.add_writer(self._connection, self._writable)

    def _detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._connection)
            self._loop.remove_writer(self._connection)
        self._loop = None

    def _drop(self, reason: str) -> subprocess.Popen[bytes] | None:
        """Let go of the worker, which dies of it; its streams fail with `reason`."""
        self._reason = reason
        child, self._child = self._child, None
        if child is not None:
            self._detach()
            self._connection.close()
            self._unsent.clear()
            child.kill()
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.end(self._error(reason))
        self._wake()
        return child

    def _lost(self) -> None:
        """The worker died: its streams fail, and another one is started unless that keeps failing."""
        assert self._child is not None
        self._child.kill()
        status = self._child.wait()
        self._drop(self._reason or f"the worker process died (exit status {status})")
        if self._starts_left:
            self.restarts += 1
            self._spawn()
            self._attach()
        else:
            self._state = _State.GIVEN_UP

    def _readable(self) -> None:
        try:
            data = self._connection.recv(1 << 18)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._lost()
            return
        for message, size in self._frames.feed(data):
            self._handle(message, size)

    def _handle(self, message: Message, size: int) -> None:
        match message:
            case Ready(facts):
                self.facts = facts
                self._state, self._starts_left = _State.READY, STARTS_IN_A_ROW
                self._wake()
            case Failed(reason):
                self._reason = reason  # and the end of the connection follows
            case Item(number, value) if channel := self._channels.get(number):
                if worthless := channel.withdraw(self._served.replaceable):
                    self._write(Credit(number, worthless))
                channel.arrive(value, size)
            case Credit(number, read) if channel := self._channels.get(number):
                channel.read_there(read)
            case End(number) if channel := self._channels.pop(number, None):
                channel.end()
            case Error(number, reason) if channel := self._channels.pop(number, None):
                channel.end(self._error(reason))

    def _writable(self) -> None:
        frames, self._unsent = bytes(self._unsent), bytearray()
        assert self._loop is not None
        self._loop.remove_writer(self._connection)
        self._write_frame(frames)

    def _write(self, message: Message) -> None:
        self._write_frame(encode(message))

    def _write_frame(self, frame: bytes) -> None:
        """Send now what the socket takes and the rest when it can; credit bounds what may wait here."""
        if not self._unsent:
            try:
                frame = frame[self._connection.send(frame) :]
            except BlockingIOError:
                pass
            except ConnectionError:
                return  # the reader will see the end of it
            if frame and self._loop is not None:
                self._loop.add_writer(self._connection, self._writable)
        self._unsent += frame

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ready in waiting:
            if not ready.done():
                ready.set_result(None)

    def _error(self, reason: str) -> Exception:
        return self._served.error(f"{self._served.name}: {reason}")
