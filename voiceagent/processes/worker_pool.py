"""Workers that take connections: kept running, handed them, asked things, ended."""

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
"""How long a worker may take to end once its calls are over."""
TAKEN_S = 0.25
"""A connection that its worker has not taken after that goes to another one."""
START_AGAIN_S = 5.0
"""How often a worker is tried again that could not start while others could."""

HandedOver = tuple[bytes, socket.socket]
"""What a connection came for, and it."""


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """What each worker runs.

    main: `package.module:function`, called with the descriptors of its connection, of the socket that hands
    connections over, and `shared`. tasks: one for each worker. services, passed_on: see `RpcConnection`.
    shared: descriptor that all of them inherit. supervision: how they are supervised. on_told: called with a
    worker's number and what it tells of itself unasked. on_lost: with the number of each worker that died,
    and why; what it gives is logged of that.
    """

    main: str
    tasks: Sequence[Any]
    services: Mapping[str, Service]
    passed_on: tuple[type[Exception], ...]
    shared: int
    supervision: Supervision
    on_told: Callable[[int, Any], None]
    on_lost: Callable[[int, str], Mapping[str, Any]]


class Worker:
    """One worker: its process, and the socket over which it is handed connections.

    The worker's own end of that socket is open here as well: what it has not taken can be taken back.
    """

    def __init__(self, program: WorkerProgram, number: int, on_lost: Callable[[str], None]) -> None:
        self._shared = program.shared
        self._connections: tuple[socket.socket, socket.socket] | None = None
        self._left_behind: list[HandedOver] = []
        self.handed_over = 0
        """Connections, since the server started."""
        self.failure = ""
        """Why it could not start, the last time that it could not."""
        self.child = Child(
            Program(
                program.main,
                program.tasks[number],
                program.services,
                program.passed_on,
                self.inherited,
                on_told=partial(program.on_told, number),
            ),
            on_lost,
            program.supervision,
        )

    @property
    def trouble(self) -> str:
        """What is wrong with it; "" where nothing is."""
        return self.failure or self.child.trouble

    def hand_over(self, connection: socket.socket, purpose: bytes) -> None:
        """Give it a connection. Raises OSError where it is dying, or has many to take already."""
        if self._connections is None:
            raise OSError("there is no process")
        socket.send_fds(self._connections[0], [purpose], [connection.fileno()])
        self.handed_over += 1

    def has_taken(self, number: int) -> bool:
        """Whether it has taken the first `number` that it was handed, or nobody is there to take them."""
        if self._connections is None:
            return True
        untaken = array("i", [0])
        fcntl.ioctl(self._connections[1], termios.FIONREAD, untaken)  # bytes: each connection comes with one
        return untaken[0] <= self.handed_over - number

    def take_back(self) -> list[HandedOver]:
        """What it was handed and has not taken, or a process before it left behind."""
        taken, self._left_behind = self._left_behind, []
        if self._connections is not None:
            with suppress(BlockingIOError):
                while True:
                    purpose, descriptors, _, _ = socket.recv_fds(self._connections[1], 1, 1)
                    taken.extend((purpose, socket.socket(fileno=descriptor)) for descriptor in descriptors)
        return taken

    async def end(self) -> None:
        """Have it end, and wait for that."""
        await self.child.end(END_S)
        for _, connection in self.take_back():
            connection.close()
        self._close()

    def _close(self) -> None:
        for end in self._connections or ():
            end.close()
        self._connections = None

    @contextmanager
    def inherited(self) -> Iterator[Sequence[int]]:
        """A new socket for each process: the one before may have been cut off anywhere."""
        # a worker that died took none of these: another one gets them
        self._left_behind = self.take_back()
        self._close()
        self._connections = ends = socket.socketpair()
        for end in ends:
            end.setblocking(False)
        yield ends[1].fileno(), self._shared


class WorkerPool:
    """All workers, known by their number.

    loads: what each has to do now. balance: picks who gets the next connection. unavailable: is given, with
    what it came for, a connection that no worker can take now.
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
            Worker(program, number, partial(self._note_lost, number)) for number in range(len(program.tasks))
        ]
        self.facts: Any = None
        """What the first worker that was ready said of itself."""
        self.complete = asyncio.Event()
        """Set once one worker is ready, and all others are too or could not start."""

    @property
    def ready(self) -> list[dict[str, int]]:
        """The workers that take calls: process id and calls of each."""
        return [
            {"process_id": worker.child.process_id, "calls": load.calls}
            for worker, load in zip(self._workers, self._loads(), strict=True)
            if worker.child.ready and worker.child.process_id is not None
        ]

    def troubles(self) -> dict[str, str]:
        """What is wrong, by the worker; those that are well are left out."""
        return {
            f"worker {number}": worker.trouble
            for number, worker in enumerate(self._workers)
            if worker.trouble
        }

    @property
    def restarts(self) -> int:
        """How often a worker was started again."""
        return sum(worker.child.restarts for worker in self._workers)

    async def run(self) -> None:
        """Keep all workers running until cancelled. Raises CommandFailed where none can start."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._workers)):
                    group.create_task(self._keep(number), name=f"worker {number}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await asyncio.gather(*(worker.end() for worker in self._workers))

    def hand_over(self, connection: socket.socket, purpose: bytes, passed_over: int | None = None) -> None:
        """Give a connection to the available worker that is to have it; it is closed here.

        passed_over: a worker that did not take it.
        """
        able = {number for number, worker in enumerate(self._workers) if worker.child.available}
        if len(able) > 1:
            # unless it is the only one: it may take it yet, and a refusal is final
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
            asyncio.get_running_loop().call_later(TAKEN_S, self._look, number, handed_over)
            return
        self._unavailable(connection, purpose)

    async def drain(self, patience_s: float) -> None:
        """Have all take no more calls, and wait until theirs are over, `patience_s` at most."""
        for worker in self._workers:
            worker.child.retire()
        await self.ask("drain", patience_s, patience_s + END_S)

    async def ask(
        self, service: str, asked: Any = None, wait_s: float | None = None, starting: bool = False
    ) -> dict[int, Any]:
        """Answers by worker; one that dies meanwhile, or has none after `wait_s`, gives none.

        starting: ask those too that are not ready yet.
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

    async def stream(
        self, number: int, service: str, asked: Any, items: AsyncIterator[Any]
    ) -> AsyncGenerator[Any, None]:
        """Yield a worker's results for `asked` and the items: see `RpcConnection.stream`. Raises RpcError."""
        child = self._workers[number].child
        if not child.answers or not child.ready:
            raise RpcError(child.trouble)
        async with aclosing(child.connection.stream(service, asked, items)) as values:
            async for value in values:
                yield value

    async def _ask(self, child: Child, service: str, asked: Any, starting: bool) -> Any:
        if not child.answers or not (child.ready or starting):
            raise RpcError(child.trouble)
        return await child.connection.ask(service, asked)

    async def _keep(self, number: int) -> None:
        worker = self._workers[number]
        while True:
            try:
                await worker.child.start()
                worker.failure = ""
                self.facts = self.facts or worker.child.facts
                self._note_started()
                await worker.child.over()
                return
            except RpcError as failure:
                worker.failure = f"it does not start: {failure}"
                self._note_started()
                # where one runs, the others are tried for ever: callers have somewhere to go
                if self.facts is None and all(other.failure for other in self._workers):
                    raise CommandFailed(f"worker {number} does not start: {failure}") from failure
                log.error("worker_does_not_start", worker=number, reason=str(failure))
            await asyncio.sleep(START_AGAIN_S)

    def _note_started(self) -> None:
        ready = [worker.child.ready for worker in self._workers]
        if any(ready) and all(
            one or worker.failure for one, worker in zip(ready, self._workers, strict=True)
        ):
            self.complete.set()

    def _look(self, number: int, handed_over: int) -> None:
        """See whether a worker has taken its first `handed_over` connections; else others get the rest."""
        worker = self._workers[number]
        if worker.has_taken(handed_over):
            return
        others = any(other.child.available for other in self._workers if other is not worker)
        if others or not worker.child.available:
            self._redistribute(number)
        else:
            asyncio.get_running_loop().call_later(TAKEN_S, self._look, number, handed_over)

    def _redistribute(self, number: int) -> None:
        for purpose, connection in self._workers[number].take_back():
            self.hand_over(connection, purpose, passed_over=number)

    def _note_lost(self, number: int, reason: str) -> None:
        told = self._on_lost(number, reason)
        self._redistribute(number)
        if not self._workers[number].child.ended:
            log.error("worker_died", worker=number, reason=reason, **told)
