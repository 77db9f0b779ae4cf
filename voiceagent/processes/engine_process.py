"""The process behind an engine host: builds one engine and serves many streams at once, in one thread.

The engine blocks, so streams take turns: one item of one stream at a time, or one step of an item where
`push` returns steps. A new stream has its first turn next, the others go round and round. A stream whose
values the host has not read is passed over until it has. The process ends when its host does, however that
came about: the socket closes.
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
"""Sends a value of the stream; false when the stream was closed meanwhile and the work can stop."""


class EngineStream(Protocol):
    """One stream of an engine, such as an utterance. Once a method has raised only `close` is called."""

    def push(self, item: Any, emit: Emit) -> Iterator[None] | None:
        """Take the next item. Where it returns an iterator, its steps are the work, and other streams have
        their turn between them.
        """

    def finish(self, emit: Emit) -> None:
        """All items came; emit what is left."""

    def close(self) -> None:
        """Release everything; called once, last, whatever came before."""


class Engine(Protocol):
    """What is served; built from keyword arguments."""

    def open(self) -> EngineStream:
        """A new stream; many may be open at once."""


class EngineTask(NamedTuple):
    """What the process is to serve.

    engine: `package.module:Class` of an `Engine`; arguments: its keyword arguments. error: what it raises
    with words meant for its user; any other exception is passed on with its type. facts: names of attributes
    that the host wants to know, such as a sample rate.
    """

    engine: str
    arguments: dict[str, Any]
    error: type[Exception]
    facts: tuple[str, ...]


_NO_MORE = object()


class HostGone(Exception):
    """The other end of the socket closed, or there is nothing to serve it with."""


class _Served:
    """One stream: what it still has to take in, and what it may not send yet."""

    def __init__(self, number: int, windows: Windows) -> None:
        self.number = number
        self.engine_stream: EngineStream | None = None
        self.inbox: deque[tuple[Item | End, int]] = deque()
        self.held: deque[bytes] = deque()
        self.sending = SendWindow(windows.here)
        self.receiving = ReceiveWindow(windows.there)
        self.steps: Iterator[None] | None = None
        self.last_turn = 0
        self.finished = False
        self.abandoned = False

    @property
    def runnable(self) -> bool:
        waiting = bool(self.inbox) or self.steps is not None
        return waiting and not self.held and not self.abandoned

    @property
    def over(self) -> bool:
        return self.abandoned or (self.finished and not self.held)


class EngineProcess:
    """Serves an engine to the host at the other end of `connection`, whose first message says which."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._frames = FrameReader()
        self._streams: dict[int, _Served] = {}
        self._engine: Engine
        self._error: type[Exception] = RpcError

    def serve(self) -> None:
        """Serve until the host goes. Raises HostGone, also when the engine could not be built."""
        turn = 0
        while True:
            runnable = [served for served in self._streams.values() if served.runnable]
            if runnable:
                turn += 1
                served = min(runnable, key=lambda one: one.last_turn)  # 0 where it had none
                served.last_turn = turn
                self._advance(served)
            self._receive(wait=not runnable)
            for served in [served for served in self._streams.values() if served.over]:
                self._forget(served)

    def _advance(self, served: _Served) -> None:
        """One item of one stream, or one step of it."""

        def emit(value: Any) -> bool:
            served.held.append(encode(Item(served.number, value)))
            self._release(served)
            self._receive(wait=False)
            return not served.abandoned

        try:
            if served.engine_stream is None:
                served.engine_stream = self._engine.open()
            if served.steps is not None:
                if next(served.steps, _NO_MORE) is _NO_MORE:
                    served.steps = None
                return
            message, size = served.inbox.popleft()
            if isinstance(message, Item):
                served.steps = served.engine_stream.push(message.value, emit)
                if credit := served.receiving.read(size):
                    self._send(Credit(served.number, credit))
            else:
                served.engine_stream.finish(emit)
                served.finished = True
        except HostGone:
            raise
        except Exception as error:  # an engine's failure ends its stream, not the process
            served.abandoned = True
            self._send(Broken(served.number, RpcError(self._in_words(error))))

    def _release(self, served: _Served) -> None:
        """Send held frames as far as credit goes."""
        while served.held and not served.abandoned and served.sending.has_room(len(served.held[0])):
            served.sending.sent(len(served.held[0]))
            self._send_frame(served.held.popleft())

    def _forget(self, served: _Served) -> None:
        del self._streams[served.number]
        if not served.abandoned:
            self._send(End(served.number))
        if served.engine_stream is not None:
            served.engine_stream.close()

    def _receive(self, wait: bool) -> None:
        """Take in what the host sent; with `wait`, until there is something."""
        try:
            data = self._connection.recv(1 << 16, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionError as error:
            raise HostGone from error
        if not data:
            raise HostGone
        for message, size in self._frames.feed(data):
            self._take(message, size)

    def _take(self, message: Message, size: int) -> None:
        """Note one message; an engine's stream does nothing before its turn."""
        if isinstance(message, Start):
            self._build(message.task)
        elif isinstance(message, Ping):
            self._send(Pong())
        elif isinstance(message, Open):
            self._streams[message.stream] = _Served(message.stream, message.windows)
        elif isinstance(message, Item | End | Credit | Close) and message.stream in self._streams:
            served = self._streams[message.stream]
            match message:
                case Item() | End():
                    served.inbox.append((message, size))
                case Credit():
                    served.sending.credited(message.size)
                    self._release(served)
                case Close():
                    served.abandoned = True

    def _build(self, task: EngineTask) -> None:
        """Import and construct the engine."""
        self._error = task.error
        module, _, name = task.engine.partition(":")
        try:
            self._engine = getattr(import_module(module), name)(**task.arguments)
            facts = {fact: getattr(self._engine, fact) for fact in task.facts}
        except Exception as error:  # passed on to the host, whatever it is
            self._send(Failed(self._in_words(error)))
            raise HostGone from error
        self._send(Ready(facts))

    def _in_words(self, error: Exception) -> str:
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
    """Run as the engine's process on an inherited socket; does not return.

    Ctrl-C, a closed terminal and a service manager's SIGTERM reach the whole process group while the host may
    still be draining its calls: only the socket says when to end.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(HostGone):
        EngineProcess(socket.socket(fileno=descriptor)).serve()
    os._exit(0)  # engines' own threads and finalizers have nothing left to say
