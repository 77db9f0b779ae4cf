"""Process that builds one engine and serves many streams at once, in one thread.

The engine blocks, so streams take turns: one item of one stream at a time, or one step of an item if `push`
returns steps. A new stream gets the next turn, and keeps it until its steps have made a first value, as a
caller waits for that; the others follow round-robin. A stream with values that the host has not read is
skipped. The process ends when its socket closes, for whatever reason the host ended.
"""

from __future__ import annotations

import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from voiceagent.processes.messages import (
    Broken,
    Close,
    Credit,
    End,
    Failed,
    FrameReader,
    Item,
    Message,
    Open,
    Ping,
    Pong,
    Ready,
    RpcError,
    Start,
    Windows,
    encode,
)
from voiceagent.processes.policies.flow_control import ReceiveWindow, SendWindow

Emit = Callable[[Any], bool]
"""Sends a value of the stream. Returns False once the stream is closed and the work can stop."""


class EngineStream(Protocol):
    """One stream of an engine, such as an utterance. After an exception only `close` is called."""

    def push(self, item: Any, emit: Emit) -> Iterator[None] | None:
        """Process the next item. If it returns an iterator, other streams take turns between its steps."""

    def finish(self, emit: Emit) -> None:
        """Emit the remaining values, as there are no more items."""

    def close(self) -> None:
        """Release all resources. Called exactly once, last."""


class Engine(Protocol):
    """An engine to serve, built from keyword arguments."""

    def open(self) -> EngineStream:
        """Return a new stream; many may be open at once."""


class EngineTask(NamedTuple):
    """Description of the engine to serve.

    engine: `package.module:Class` of an `Engine`; arguments: its keyword arguments. error: its exception
    class with messages for users; any other exception is passed on with its type. facts: names of attributes
    to report to the host, such as a sample rate.
    """

    engine: str
    arguments: dict[str, Any]
    error: type[Exception]
    facts: tuple[str, ...]


_NO_MORE = object()


class HostGone(Exception):
    """The host closed the socket, or the engine could not be built."""


class _ServedStream:
    """One stream: unprocessed items, and frames that flow control holds back."""

    def __init__(self, number: int, windows: Windows) -> None:
        self.number = number
        self.engine_stream: EngineStream | None = None
        self.inbox: deque[tuple[Item | End, int]] = deque()
        self.held: deque[bytes] = deque()
        self.sending = SendWindow(windows.here)
        self.receiving = ReceiveWindow(windows.there)
        self.steps: Iterator[None] | None = None
        self.last_turn = 0
        self.has_emitted = False
        self.finished = False
        self.abandoned = False

    @property
    def runnable(self) -> bool:
        waiting = bool(self.inbox) or self.steps is not None
        return waiting and not self.held and not self.abandoned

    @property
    def priority(self) -> tuple[bool, int]:
        """Sort key of the next turn: steps towards a first value come first, then the least recent stream.

        Items without steps take turns, as a recognizer's utterance may go on for long without a value.
        """
        awaited = self.last_turn == 0 or (self.steps is not None and not self.has_emitted)
        return not awaited, self.last_turn

    @property
    def over(self) -> bool:
        return self.abandoned or (self.finished and not self.held)


class EngineProcess:
    """Serves an engine to the host at the other end of `connection`, whose first message names the engine."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._frames = FrameReader()
        self._streams: dict[int, _ServedStream] = {}
        self._engine: Engine
        self._error: type[Exception] = RpcError

    def serve(self) -> None:
        """Serve until the host is gone. Raises HostGone, also if the engine cannot be built.

        `emit` calls `_receive`, which may add streams; only this method removes them.
        """
        turn = 0
        while True:
            runnable = [stream for stream in self._streams.values() if stream.runnable]
            if runnable:
                turn += 1
                stream = min(runnable, key=lambda one: one.priority)
                stream.last_turn = turn
                self._advance(stream)
            self._receive(wait=not runnable)
            for stream in [stream for stream in self._streams.values() if stream.over]:
                self._remove(stream)

    def _advance(self, stream: _ServedStream) -> None:
        """Process one item of one stream, or one step of it."""

        def emit(value: Any) -> bool:
            stream.has_emitted = True
            stream.held.append(encode(Item(stream.number, value)))
            self._send_held(stream)
            self._receive(wait=False)
            return not stream.abandoned

        try:
            if stream.engine_stream is None:
                stream.engine_stream = self._engine.open()
            if stream.steps is not None:
                if next(stream.steps, _NO_MORE) is _NO_MORE:
                    stream.steps = None
                return
            message, size = stream.inbox.popleft()
            if isinstance(message, Item):
                stream.steps = stream.engine_stream.push(message.value, emit)
                if credit := stream.receiving.read(size):
                    self._send(Credit(stream.number, credit))
            else:
                stream.engine_stream.finish(emit)
                stream.finished = True
        except HostGone:
            raise
        except Exception as error:  # an engine's failure ends its stream, not the process
            stream.abandoned = True
            self._send(Broken(stream.number, RpcError(self._error_text(error))))

    def _send_held(self, stream: _ServedStream) -> None:
        """Send held frames as far as credit allows."""
        while stream.held and not stream.abandoned and stream.sending.has_room(len(stream.held[0])):
            stream.sending.count_sent(len(stream.held[0]))
            self._send_frame(stream.held.popleft())

    def _remove(self, stream: _ServedStream) -> None:
        del self._streams[stream.number]
        if not stream.abandoned:
            self._send(End(stream.number))
        if stream.engine_stream is not None:
            stream.engine_stream.close()

    def _receive(self, wait: bool) -> None:
        """Read and handle messages of the host. wait: block until there is at least one."""
        try:
            data = self._connection.recv(1 << 16, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionError as error:
            raise HostGone from error
        if not data:
            raise HostGone
        for message, size in self._frames.feed(data):
            self._on_message(message, size)

    def _on_message(self, message: Message, size: int) -> None:
        """Handle one message. Items are only queued, until the stream's turn."""
        if isinstance(message, Start):
            self._build(message.task)
        elif isinstance(message, Ping):
            self._send(Pong())
        elif isinstance(message, Open):
            self._streams[message.stream] = _ServedStream(message.stream, message.windows)
        elif isinstance(message, Item | End | Credit | Close) and message.stream in self._streams:
            stream = self._streams[message.stream]
            match message:
                case Item() | End():
                    stream.inbox.append((message, size))
                case Credit():
                    stream.sending.add_credit(message.size)
                    self._send_held(stream)
                case Close():
                    stream.abandoned = True

    def _build(self, task: EngineTask) -> None:
        self._error = task.error
        module, _, name = task.engine.partition(":")
        try:
            self._engine = getattr(import_module(module), name)(**task.arguments)
            facts = {fact: getattr(self._engine, fact) for fact in task.facts}
        except Exception as error:  # reported to the host, whatever it is
            self._send(Failed(self._error_text(error)))
            raise HostGone from error
        self._send(Ready(facts))

    def _error_text(self, error: Exception) -> str:
        if isinstance(error, self._error):
            return str(error)
        if isinstance(error, ModuleNotFoundError):
            return f"needs the Python package {error.name!r}, which is not installed"
        return f"{type(error).__name__}: {error}"

    def _send(self, message: Message) -> None:
        self._send_frame(encode(message))

    def _send_frame(self, frame: bytes) -> None:
        try:
            self._connection.sendall(frame)
        except ConnectionError as error:
            raise HostGone from error


def main(descriptor: int) -> None:
    """Run an engine's process on an inherited socket; does not return.

    Ctrl-C, a closed terminal and a service manager's SIGTERM reach the whole process group while the host may
    still be draining its calls, so signals are ignored: only the socket says when to end.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(HostGone):
        EngineProcess(socket.socket(fileno=descriptor)).serve()
    os._exit(0)  # skip finalizers and threads of the engine
