"""One process of ours and the connection to it: started, ready, lost, started again, ended.

Whatever runs in a process of its own has its life here: the engines and the workers that take calls.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from voiceagent.processes.messages import Failed, LifeMessage, Ready, RpcError, Start
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service
from voiceagent.processes.threads import with_threads

STARTS_IN_A_ROW = 3
"""A process that dies so often without ever being ready is given up."""
_LOOK_S = 0.002
"""So often it is looked whether a process has ended: no event tells on every platform, without a thread."""


@contextmanager
def _nothing() -> Iterator[Sequence[int]]:
    yield ()


@dataclass(frozen=True, slots=True)
class Program:
    """What a process runs.

    main: `package.module:function`, called with the descriptor of its connection and those it inherits.
    task: the first message to it. services: what it may ask for. passed_on: see `RpcConnection`.
    inherited: further descriptors, open while it is started. threads: that OpenMP may start in it.
    """

    main: str
    task: Any
    services: Mapping[str, Service] = field(default_factory=dict)
    passed_on: tuple[type[Exception], ...] = ()
    inherited: Callable[[], AbstractContextManager[Sequence[int]]] = _nothing
    threads: int = 1

    def run(self, connection: socket.socket, inherited: Sequence[int]) -> subprocess.Popen[bytes]:
        """A fresh interpreter that imports what this one can: nothing is forked. Raises OSError."""
        module, _, function = self.main.partition(":")
        boot = f"import sys; from {module} import {function}; {function}(*map(int, sys.argv[1:]))"
        descriptors = [connection.fileno(), *inherited]
        return subprocess.Popen(
            [sys.executable, "-P", "-c", boot, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={
                **with_threads(os.environ, self.threads),
                "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path),
            },
        )


class _State(Enum):
    STOPPED = auto()
    STARTING = auto()
    READY = auto()
    GIVEN_UP = auto()


class Child:
    """One process, started again whenever it dies, until that keeps failing.

    on_lost: called with the reason each time it died; by then another is starting, where one is to.
    It follows its user from one event loop to the next, as long as only one at a time uses it.
    """

    def __init__(self, program: Program, on_lost: Callable[[str], None] = lambda reason: None) -> None:
        self.facts: Any = None
        self.restarts = 0
        self._program = program
        self._on_lost = on_lost
        self._state = _State.STOPPED
        self._reason = "not started"
        self._failure = ""
        self._starts_left = 0
        self._was_ready = False
        self._retired = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: RpcConnection
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def ready(self) -> bool:
        """Whether it has said so."""
        return self._state is _State.READY

    @property
    def process_id(self) -> int | None:
        """While there is a process."""
        return None if self._process is None else self._process.pid

    @property
    def open_streams(self) -> int:
        """Of its connection."""
        return 0 if self._process is None else self._connection.open_streams

    @property
    def connection(self) -> RpcConnection:
        """The connection, also while it still starts. Raises RpcError where there is none to be had."""
        if self._process is not None and self._process.poll() is not None:
            self._connection.lose()  # it died while nobody was listening
        if self._state in (_State.STOPPED, _State.GIVEN_UP):
            raise RpcError(self._reason)
        return self._connection

    async def start(self) -> None:
        """Start it, unless it runs, and wait until it is ready. Raises RpcError."""
        if self._state in (_State.STOPPED, _State.GIVEN_UP):
            self._starts_left = STARTS_IN_A_ROW
            self._was_ready = self._retired = False
            self._spawn()
        if self._process is not None:
            self._connection.attach()
        await self._until(lambda: self._state is not _State.STARTING)
        if not self.ready:
            raise RpcError(self._reason)

    async def over(self) -> None:
        """Wait until it runs no more and is not started again. Raises RpcError where it was given up."""
        await self._until(lambda: self._state in (_State.STOPPED, _State.GIVEN_UP))
        if self._state is _State.GIVEN_UP:
            raise RpcError(self._reason)

    def retire(self) -> None:
        """It may end now: it is not started again."""
        self._retired = True

    async def end(self, patience_s: float = 0.0) -> None:
        """End it, failing what runs; it is killed after `patience_s`. A second call does nothing."""
        self._state, self._reason = _State.STOPPED, "closed"
        process, self._process = self._process, None
        if process is None:
            return
        self._connection.close()
        self._wake()
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + patience_s
        while process.poll() is None:
            if loop.time() >= give_up_s:
                process.kill()
            await asyncio.sleep(_LOOK_S)

    def _spawn(self) -> None:
        """Start the process and send it what it is to be."""
        self._starts_left -= 1
        self._state, self._failure = _State.STARTING, ""
        ours, theirs = socket.socketpair()
        with theirs, self._program.inherited() as inherited:
            try:
                self._process = self._program.run(theirs, inherited)
            except OSError as error:
                ours.close()
                self._state, self._reason = _State.GIVEN_UP, f"no process can be started: {error}"
                return
        self._connection = RpcConnection(
            ours,
            self._program.services,
            opens_even=True,
            passed_on=self._program.passed_on,
            on_life=self._note,
            on_lost=self._lost,
        )
        self._connection.attach()
        self._connection.notify(Start(self._program.task))

    def _note(self, message: LifeMessage) -> None:
        match message:
            case Ready(facts):
                self.facts = facts
                self._was_ready = True
                self._state, self._starts_left = _State.READY, STARTS_IN_A_ROW
                self._wake()
            case Failed(reason):
                self._failure = reason  # and the end of the connection follows

    def _lost(self) -> str:
        """The process died; another one is started unless that keeps failing. The reason."""
        assert self._process is not None
        self._process.kill()  # its end of the socket closes as it exits: this waits for no work of its own
        status = self._process.wait()
        self._process = None
        reason = self._failure or f"the worker process died (exit status {status})"
        if self._retired:
            self._state, self._reason = _State.STOPPED, reason
        elif self._failure and not self._was_ready:  # what is wrong at first is wrong in the settings
            self._state, self._reason = _State.GIVEN_UP, reason
        elif self._starts_left:
            self.restarts += 1
            self._spawn()
        else:
            self._state = _State.GIVEN_UP
            self._reason = f"given up after {STARTS_IN_A_ROW} starts that failed: {reason}"
        self._on_lost(reason)
        self._wake()
        return reason

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            change = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done() and not change.get_loop().is_closed():
                change.set_result(None)


async def join_parent(descriptor: int, services: Mapping[str, Service]) -> tuple[RpcConnection, Any]:
    """In a child with an event loop: the connection to its parent, and the task that this gave it.

    The child never closes the connection: to the parent its end is that of the process. Raises RpcError
    where the parent has gone.
    """
    task: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def note(message: LifeMessage) -> None:
        if isinstance(message, Start):
            task.set_result(message.task)

    def lost() -> str:
        reason = "the parent process is gone"
        if not task.done():
            task.set_exception(RpcError(reason))
        return reason

    connection = socket.socket(fileno=descriptor)
    parent = RpcConnection(connection, services, opens_even=False, on_life=note, on_lost=lost)
    parent.attach()
    return parent, await task
