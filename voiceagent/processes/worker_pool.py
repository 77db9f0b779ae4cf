"""The workers as their parent sees them: started, handed connections, asked, lost, started again, ended."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from voiceagent.access.slots import SharedSlots
from voiceagent.engines.remote import PASSED_ON
from voiceagent.processes.balance import Balance
from voiceagent.processes.rpc import Peer, PeerError, Service
from voiceagent.server.call_worker import one
from voiceagent.telemetry.totals import Totals
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

STARTS_IN_A_ROW = 3
"""A worker that dies so often without ever being ready ends the server."""
ANSWER_S = 2.0
"""For a worker that takes longer to tell its numbers, those it told before stand."""
END_S = 10.0
"""How long a worker may take to end once its calls are over."""

_BOOT = "import sys; from voiceagent.server.call_worker import main; main(*map(int, sys.argv[1:]))"


class _Member:
    """One running worker. connections: where it is handed them."""

    def __init__(self, peer: Peer, connections: socket.socket, process: asyncio.subprocess.Process) -> None:
        self.peer = peer
        self.connections = connections
        self.process = process
        self.ready = False

    async def end(self) -> int:
        """Have it end, and wait for that; its exit status."""
        self.peer.close()
        self.connections.close()
        try:
            return await asyncio.wait_for(self.process.wait(), END_S)
        except TimeoutError:
            self.process.kill()
            return await self.process.wait()


class Crew:
    """All workers. services: what they may ask for, beside telling how they are."""

    def __init__(self, workers: int, max_calls: int, services: Mapping[str, Service]) -> None:
        self._services = services
        self._workers = workers
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the crew
        self._file.truncate(SharedSlots.size(workers))
        self._slots = SharedSlots(self._file.fileno(), max_calls, workers, worker=0)
        self._members: dict[int, _Member] = {}
        self._balance = Balance()
        self._totals = Totals()
        self._failure = ""
        self._draining = False
        self.latency_s: dict[str, float] = {}
        self.complete = asyncio.Event()

    @property
    def calls(self) -> int:
        """Calls in all workers."""
        return self._slots.taken

    @property
    def ready(self) -> list[dict[str, int]]:
        """The workers that take calls: process id and calls of each."""
        calls = self._slots.each
        return [
            {"process_id": member.process.pid, "calls": calls[slot]}
            for slot, member in sorted(self._members.items())
            if member.ready
        ]

    async def run(self) -> None:
        """Keep all workers running until cancelled. Raises CommandFailed where one does not start."""
        try:
            async with asyncio.TaskGroup() as group:
                for slot in range(self._workers):
                    group.create_task(self._keep(slot), name=f"worker {slot}")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            self._file.close()

    def hand_over(self, connection: socket.socket, purpose: bytes) -> None:
        """Give a connection to the worker with the fewest calls; it is closed here."""
        with connection:
            able = set(self._members)
            while able:
                slot = self._balance.pick(time.monotonic(), self._slots.each, able)
                try:
                    socket.send_fds(self._members[slot].connections, [purpose], [connection.fileno()])
                    return
                except OSError:  # it is dying, or has many to take already
                    able.discard(slot)
            log.warning("connection_dropped", reason="no worker can take it")

    async def drain(self, patience_s: float) -> None:
        """Have all take no more calls, and wait until theirs are over, `patience_s` at most."""
        self._draining = True
        await self._ask_all("drain", patience_s)

    async def notify(self, service: str, asked: Any) -> list[Any]:
        """What all workers answer."""
        return list((await self._ask_all(service, asked)).values())

    async def totals(self) -> Totals:
        """The numbers of all workers."""
        self._totals.update(await self._ask_all("metrics", None, ANSWER_S))
        return self._totals

    async def _ask_all(self, service: str, asked: Any, wait_s: float | None = None) -> dict[int, Any]:
        """Answers by worker; one that dies meanwhile, or has none after `wait_s`, gives none."""
        slots = list(self._members)
        asking = (asyncio.wait_for(self._members[slot].peer.ask(service, asked), wait_s) for slot in slots)
        answers = await asyncio.gather(*asking, return_exceptions=True)
        given: dict[int, Any] = {}
        for slot, answer in zip(slots, answers, strict=True):
            if not isinstance(answer, BaseException):
                given[slot] = answer
            elif not isinstance(answer, PeerError | TimeoutError):
                raise answer
        return given

    async def _keep(self, slot: int) -> None:
        """Start the worker of a slot, and again whenever it dies."""
        failed = 0
        while True:
            member = self._members[slot] = await self._start(slot)
            try:
                await member.peer.gone.wait()
            finally:
                del self._members[slot]
                status = await member.end()
                self._slots.clear(slot)
                self._totals.depart(slot)
            if self._draining:
                return
            failed = 0 if member.ready else failed + 1
            why = self._failure or f"the process ended (exit status {status})"
            if self._failure or failed == STARTS_IN_A_ROW:
                raise CommandFailed(f"worker {slot} does not start: {why}")
            log.error("worker_died", worker=slot, reason=why)

    async def _start(self, slot: int) -> _Member:
        link, their_link = socket.socketpair()
        connections, their_connections = socket.socketpair()
        theirs = (their_link, their_connections)
        descriptors = [*(end.fileno() for end in theirs), self._file.fileno()]
        connections.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-c", _BOOT, str(slot), *map(str, descriptors)),
                pass_fds=descriptors,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)},
            )
        finally:
            for end in theirs:
                end.close()
        services = dict(self._services)
        _, peer = await asyncio.get_running_loop().create_unix_connection(
            lambda: Peer(services, opens_even=True, passed_on=PASSED_ON), sock=link
        )
        member = _Member(peer, connections, process)
        services |= {"ready": one(self._note_ready(member)), "failed": one(self._note_failure)}
        return member

    def _note_ready(self, member: _Member) -> Callable[[dict[str, float]], Any]:
        async def note(latency_s: dict[str, float]) -> None:
            member.ready = True
            self.latency_s = self.latency_s or latency_s
            if len(self.ready) == self._workers:
                self.complete.set()

        return note

    async def _note_failure(self, reason: str) -> None:
        self._failure = reason
