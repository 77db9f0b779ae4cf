"""Workers that take connections: kept running, handed them, asked things, ended."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from voiceagent.processes.balance import Balance
from voiceagent.processes.child import Child, Program
from voiceagent.processes.messages import RpcError
from voiceagent.processes.streams import Service
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

END_S = 10.0
"""How long a worker may take to end once its calls are over."""


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """What each worker runs.

    main: `package.module:function`, called with the descriptors of its connection, of the socket that hands
    connections over, and `shared`. tasks: one for each worker. services, passed_on: see `RpcConnection`.
    shared: descriptor that all of them inherit.
    """

    main: str
    tasks: Sequence[Any]
    services: Mapping[str, Service]
    passed_on: tuple[type[Exception], ...]
    shared: int


class _Worker:
    """One worker: its process, and the socket over which it is handed connections."""

    def __init__(self, program: WorkerProgram, task: Any, on_lost: Callable[[str], None]) -> None:
        self._shared = program.shared
        self._connections: socket.socket | None = None
        self.child = Child(
            Program(program.main, task, program.services, program.passed_on, self._inherited), on_lost
        )

    def hand_over(self, connection: socket.socket, purpose: bytes) -> None:
        """Give it a connection. Raises OSError where it is dying, or has many to take already."""
        if self._connections is None:
            raise OSError("there is no process")
        socket.send_fds(self._connections, [purpose], [connection.fileno()])

    async def end(self) -> None:
        """Have it end, and wait for that."""
        await self.child.end(END_S)
        if self._connections is not None:
            self._connections.close()

    @contextmanager
    def _inherited(self) -> Iterator[Sequence[int]]:
        """A new socket for each process: what the one before did not take is dropped."""
        if self._connections is not None:
            self._connections.close()
        self._connections, theirs = socket.socketpair()
        self._connections.setblocking(False)
        with theirs:
            yield theirs.fileno(), self._shared


class WorkerPool:
    """All workers, known by their number.

    calls: how many calls each has now. on_lost: told the number of each worker that died.
    """

    def __init__(
        self,
        program: WorkerProgram,
        calls: Callable[[], Sequence[int]],
        on_lost: Callable[[int], None],
    ) -> None:
        self._calls = calls
        self._on_lost = on_lost
        self._balance = Balance()
        self._workers = [
            _Worker(program, task, partial(self._note_lost, number))
            for number, task in enumerate(program.tasks)
        ]
        self.facts: Any = None
        """What the first worker that was ready told of itself."""
        self.complete = asyncio.Event()
        """Set once all workers are ready."""

    @property
    def ready(self) -> list[dict[str, int]]:
        """The workers that take calls: process id and calls of each."""
        return [
            {"process_id": worker.child.process_id, "calls": calls}
            for worker, calls in zip(self._workers, self._calls(), strict=True)
            if worker.child.ready and worker.child.process_id is not None
        ]

    async def run(self) -> None:
        """Keep all workers running until cancelled. Raises CommandFailed where one does not start."""
        try:
            async with asyncio.TaskGroup() as group:
                for number, worker in enumerate(self._workers):
                    group.create_task(self._keep(number, worker.child), name=f"worker {number}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await asyncio.gather(*(worker.end() for worker in self._workers))

    def hand_over(self, connection: socket.socket, purpose: bytes) -> None:
        """Give a connection to the worker with the fewest calls; it is closed here."""
        with connection:
            able = set(range(len(self._workers)))
            while able:
                number = self._balance.pick(time.monotonic(), self._calls(), able)
                try:
                    self._workers[number].hand_over(connection, purpose)
                    return
                except OSError:
                    able.discard(number)
            log.warning("connection_dropped", reason="no worker can take it")

    async def drain(self, patience_s: float) -> None:
        """Have all take no more calls, and wait until theirs are over, `patience_s` at most."""
        for worker in self._workers:
            worker.child.retire()
        await self.ask("drain", patience_s)

    async def ask(self, service: str, asked: Any = None, wait_s: float | None = None) -> dict[int, Any]:
        """Answers by worker; one that dies meanwhile, or has none after `wait_s`, gives none."""
        asking = (
            asyncio.wait_for(self._ask(worker.child, service, asked), wait_s) for worker in self._workers
        )
        answers = await asyncio.gather(*asking, return_exceptions=True)
        given: dict[int, Any] = {}
        for number, answer in enumerate(answers):
            if not isinstance(answer, BaseException):
                given[number] = answer
            elif not isinstance(answer, RpcError | TimeoutError):
                raise answer
        return given

    async def _ask(self, child: Child, service: str, asked: Any) -> Any:
        return await child.connection.ask(service, asked)

    async def _keep(self, number: int, child: Child) -> None:
        try:
            await child.start()
            self.facts = self.facts or child.facts
            if all(worker.child.ready for worker in self._workers):
                self.complete.set()
            await child.over()
        except RpcError as failure:
            raise CommandFailed(f"worker {number} does not start: {failure}") from failure

    def _note_lost(self, number: int, reason: str) -> None:
        self._on_lost(number)
        if self._workers[number].child.process_id is not None:  # another one is starting already
            log.error("worker_died", worker=number, reason=reason)
