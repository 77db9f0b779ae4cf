"""Pool of workers that serve connections: supervision, distribution of connections, requests, shutdown."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import termios
import time
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from voiceagent.processes.child import Child
from voiceagent.processes.messages import RpcError
from voiceagent.processes.policies.balance import Balance, WorkerLoad
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.processes.program import Program
from voiceagent.processes.streams import Service
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

END_S = 10.0
"""Time a worker has to end once its calls are over."""
ACCEPT_TIMEOUT_S = 0.25
"""Time after which a connection that its worker has not accepted goes to another one."""
RETRY_START_S = 5.0
"""Retry interval for a worker that could not start while others could."""

PendingConnection = tuple[bytes, socket.socket]
"""A connection's purpose and socket."""


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """Program of the workers.

    main: `package.module:function`, called with the descriptors of its connection, of the socket that
    passes connections to it, and `shared`. tasks: one per worker. services, passed_on: see `RpcConnection`.
    shared: descriptor that all of them inherit. supervision: settings. on_notification: called with a
    worker's number and its notifications. on_lost: called with the number of a worker that died, and why;
    returns fields for the log.
    """

    main: str
    tasks: Sequence[Any]
    services: Mapping[str, Service]
    passed_on: tuple[type[Exception], ...]
    shared: int
    supervision: Supervision
    on_notification: Callable[[int, Any], None]
    on_lost: Callable[[int, str], Mapping[str, Any]]


class Worker:
    """One worker: its process, and the socket that passes connections to it.

    The worker's end of that socket is kept open here too, so that connections it has not accepted can be
    taken back.
    """

    def __init__(self, program: WorkerProgram, number: int, on_lost: Callable[[str], None]) -> None:
        self._shared = program.shared
        self._connections: tuple[socket.socket, socket.socket] | None = None
        self._unaccepted: list[PendingConnection] = []
        self.handed_over = 0
        """Number of connections since the server started."""
        self.failure = ""
        """Reason of the last failed start; "" once it started."""
        self.child = Child(
            Program(
                program.main,
                program.tasks[number],
                program.services,
                program.passed_on,
                self.inherited,
                on_notification=partial(program.on_notification, number),
            ),
            on_lost,
            program.supervision,
        )

    @property
    def problem(self) -> str:
        """Problem of the worker; "" if there is none."""
        return self.failure or self.child.problem

    def hand_over(self, connection: socket.socket, purpose: bytes) -> None:
        """Pass a connection to the worker. Raises OSError if it is dying, or its queue is full."""
        if self._connections is None:
            raise OSError("there is no process")
        socket.send_fds(self._connections[0], [purpose], [connection.fileno()])
        self.handed_over += 1

    def has_accepted(self, number: int) -> bool:
        """Return True if it has accepted the first `number` connections, or has no process to accept them."""
        if self._connections is None:
            return True
        untaken = array("i", [0])
        fcntl.ioctl(self._connections[1], termios.FIONREAD, untaken)  # in bytes, one per connection
        return untaken[0] <= self.handed_over - number

    def reclaim(self) -> list[PendingConnection]:
        """Return the connections that this process, or one before it, has not accepted."""
        taken, self._unaccepted = self._unaccepted, []
        if self._connections is not None:
            with suppress(BlockingIOError):
                while True:
                    purpose, descriptors, _, _ = socket.recv_fds(self._connections[1], 1, 1)
                    taken.extend((purpose, socket.socket(fileno=descriptor)) for descriptor in descriptors)
        return taken

    async def end(self) -> None:
        """End the process, and wait for that."""
        await self.child.end(END_S)
        for _, connection in self.reclaim():
            connection.close()
        self._close()

    def _close(self) -> None:
        for end in self._connections or ():
            end.close()
        self._connections = None

    @contextmanager
    def inherited(self) -> Iterator[Sequence[int]]:
        """Create a new socket for each process, as the former may have been cut within a message."""
        # connections that a dead worker did not accept go to another one
        self._unaccepted = self.reclaim()
        self._close()
        self._connections = ends = socket.socketpair()
        for end in ends:
            end.setblocking(False)
        yield ends[1].fileno(), self._shared


class WorkerPool:
    """All workers, identified by number.

    loads: returns the current load of each. balance: picks the worker of the next connection. unavailable:
    called with a connection, and its purpose, that no worker can accept now.
    """

    def __init__(
        self,
        program: WorkerProgram,
        loads: Callable[[], Sequence[WorkerLoad]],
        balance: Balance,
        unavailable: Callable[[socket.socket, bytes], None],
    ) -> None:
        self._loads = loads
        self._balance = balance
        self._on_lost = program.on_lost
        self._unavailable = unavailable
        self._workers = [
            Worker(program, number, partial(self._on_worker_lost, number))
            for number in range(len(program.tasks))
        ]
        self.facts: Any = None
        """Facts reported by the first worker that was ready."""
        self.complete = asyncio.Event()
        """Set once one worker is ready and each of the others is too, or failed to start."""

    @property
    def ready(self) -> list[dict[str, int]]:
        """Process id and number of calls of each ready worker."""
        return [
            {"process_id": worker.child.process_id, "calls": load.calls}
            for worker, load in zip(self._workers, self._loads(), strict=True)
            if worker.child.ready and worker.child.process_id is not None
        ]

    def problems(self) -> dict[str, str]:
        """Return problems by worker, without the healthy ones."""
        return {
            f"worker {number}": worker.problem
            for number, worker in enumerate(self._workers)
            if worker.problem
        }

    @property
    def restarts(self) -> int:
        return sum(worker.child.restarts for worker in self._workers)

    async def run(self) -> None:
        """Keep all workers running until cancelled. Raises CommandFailed if none can start."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._workers)):
                    group.create_task(self._keep_running(number), name=f"worker {number}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await asyncio.gather(*(worker.end() for worker in self._workers))

    def hand_over(self, connection: socket.socket, purpose: bytes, passed_over: int | None = None) -> None:
        """Pass a connection to an available worker, and close it here.

        passed_over: a worker that did not accept it.
        """
        able = {number for number, worker in enumerate(self._workers) if worker.child.available}
        if len(able) > 1:
            # unless it is the only one: it may accept it yet, and a refusal is final
            able.discard(passed_over if passed_over is not None else -1)
        while able:
            number = self._balance.pick(time.monotonic(), self._loads(), able)
            try:
                self._workers[number].hand_over(connection, purpose)
            except OSError:
                able.discard(number)
                continue
            connection.close()
            handed_over = self._workers[number].handed_over
            asyncio.get_running_loop().call_later(ACCEPT_TIMEOUT_S, self._check_accepted, number, handed_over)
            return
        self._unavailable(connection, purpose)

    async def drain(self, patience_s: float) -> None:
        """Let all workers refuse new calls, and wait until theirs are over, `patience_s` at most."""
        for worker in self._workers:
            worker.child.disable_restart()
        await self.ask("drain", patience_s, patience_s + END_S)

    async def ask(
        self, service: str, asked: Any = None, wait_s: float | None = None, starting: bool = False
    ) -> dict[int, Any]:
        """Return answers by worker, without those that die meanwhile or do not answer within `wait_s`.

        starting: ask also workers that are not ready yet.
        """
        asking = (
            asyncio.wait_for(self._ask(worker.child, service, asked, starting), wait_s)
            for worker in self._workers
        )
        answers = await asyncio.gather(*asking, return_exceptions=True)
        given: dict[int, Any] = {}
        for number, answer in enumerate(answers):
            if not isinstance(answer, BaseException):
                given[number] = answer
            elif not isinstance(answer, RpcError | TimeoutError):
                raise answer
        return given

    async def find(self, service: str, asked: Any, wait_s: float) -> int | None:
        """Return the first worker whose answer is true; None once none can be, or after `wait_s`.

        A worker that does not answer delays only what no other one has.
        """
        asking = [
            asyncio.ensure_future(self._answer_of(number, service, asked))
            for number in range(len(self._workers))
        ]
        try:
            with suppress(TimeoutError):
                for answered in asyncio.as_completed(asking, timeout=wait_s):
                    number, answer = await answered
                    if answer:
                        return number
        finally:
            for one in asking:
                one.cancel()
        return None

    async def _answer_of(self, number: int, service: str, asked: Any) -> tuple[int, Any]:
        """Return a worker's number and answer, None if it died."""
        with suppress(RpcError):
            return number, await self._ask(self._workers[number].child, service, asked, False)
        return number, None

    async def stream(
        self, number: int, service: str, asked: Any, items: AsyncIterator[Any]
    ) -> AsyncGenerator[Any, None]:
        """Yield a worker's results for `asked` and the items: see `RpcConnection.stream`. Raises RpcError."""
        child = self._workers[number].child
        if not child.answers or not child.ready:
            raise RpcError(child.problem)
        async with aclosing(child.connection.stream(service, asked, items)) as values:
            async for value in values:
                yield value

    async def _ask(self, child: Child, service: str, asked: Any, starting: bool) -> Any:
        if not child.answers or not (child.ready or starting):
            raise RpcError(child.problem)
        return await child.connection.ask(service, asked)

    async def _keep_running(self, number: int) -> None:
        worker = self._workers[number]
        while True:
            try:
                await worker.child.start()
                worker.failure = ""
                self.facts = self.facts or worker.child.facts
                self._on_worker_started()
                await worker.child.wait_until_ended()
                return
            except RpcError as failure:
                worker.failure = f"it does not start: {failure}"
                self._on_worker_started()
                # while one runs, the others are retried without limit, as callers can be served
                if self.facts is None and all(other.failure for other in self._workers):
                    raise CommandFailed(f"worker {number} does not start: {failure}") from failure
                log.error("worker_start_failed", worker=number, reason=str(failure))
            await asyncio.sleep(RETRY_START_S)

    def _on_worker_started(self) -> None:
        ready = [worker.child.ready for worker in self._workers]
        if any(ready) and all(
            one or worker.failure for one, worker in zip(ready, self._workers, strict=True)
        ):
            self.complete.set()

    def _check_accepted(self, number: int, handed_over: int) -> None:
        """Check if a worker has accepted its first `handed_over` connections; if not, pass the rest on."""
        worker = self._workers[number]
        if worker.has_accepted(handed_over):
            return
        others = any(other.child.available for other in self._workers if other is not worker)
        if others or not worker.child.available:
            self._redistribute(number)
        else:
            asyncio.get_running_loop().call_later(ACCEPT_TIMEOUT_S, self._check_accepted, number, handed_over)

    def _redistribute(self, number: int) -> None:
        for purpose, connection in self._workers[number].reclaim():
            self.hand_over(connection, purpose, passed_over=number)

    def _on_worker_lost(self, number: int, reason: str) -> None:
        details = self._on_lost(number, reason)
        self._redistribute(number)
        if not self._workers[number].child.ended:
            log.error("worker_died", worker=number, reason=reason, **details)
