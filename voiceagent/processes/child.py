"""One process of ours and the connection to it: started, ready, lost, started again, ended.

Whatever runs in a process of its own has its life here: the engines and the workers that take calls.
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from voiceagent.processes.messages import Failed, LifeMessage, Ping, Pong, Ready, RpcError, Start
from voiceagent.processes.policies.liveness import STARTS_IN_A_ROW, Heartbeat, Restarts, Supervision
from voiceagent.processes.program import Program
from voiceagent.processes.rpc import RpcConnection

_SUPERVISION = Supervision()
_LOOK_S = 0.002
"""So often it is looked whether a process has ended: no event tells on every platform, without a thread."""


class _State(Enum):
    STOPPED = auto()
    STARTING = auto()
    READY = auto()
    WAITING = auto()
    GIVEN_UP = auto()


_OVER = (_State.STOPPED, _State.GIVEN_UP)
_BETWEEN = (_State.STARTING, _State.WAITING)


class Child:
    """One process, killed when it hangs and started again whenever it dies, without end once it was ready.

    on_lost: called with the reason each time it died; by then another is starting, where one is to at once.
    It follows its user from one event loop to the next, as long as only one at a time uses it.
    """

    def __init__(
        self,
        program: Program,
        on_lost: Callable[[str], None] = lambda reason: None,
        supervision: Supervision = _SUPERVISION,
    ) -> None:
        self.facts: Any = None
        self.restarts = 0
        self._program = program
        self._on_lost = on_lost
        self._supervision = supervision
        self._state = _State.STOPPED
        self._reason = "not started"
        self._failure = ""
        self._retired = self._full = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: RpcConnection
        self._waiting: list[asyncio.Future[None]] = []
        self._heartbeat = Heartbeat(supervision)
        self._restarts = Restarts(supervision, random.random)
        self._due_s = 0.0  # when it is started again, or must be ready
        self._beating: asyncio.AbstractEventLoop | None = None
        self._dying: list[subprocess.Popen[bytes]] = []

    @property
    def ready(self) -> bool:
        """Whether it has said so."""
        return self._state is _State.READY

    @property
    def answers(self) -> bool:
        """Whether it has answered lately, as far as it was asked."""
        return self._heartbeat.state == "well"

    @property
    def ended(self) -> bool:
        """Whether it runs no more and is not started again."""
        return self._state in _OVER

    @property
    def available(self) -> bool:
        """Whether it is to be given something new: it is ready, answers, and is not full."""
        return self.ready and self.answers and not self._full

    @property
    def trouble(self) -> str:
        """Why it does not do what it is for, or not for sure; "" where it does."""
        if self.ready and self.answers:
            return "it can take nothing more: no descriptor is left" if self._full else ""
        if self.ready:
            return f"no answer for {self._heartbeat.silent_s:.1f} s"
        return self._reason

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
        if self._process is None:
            raise RpcError(self._reason)
        self._keep_beating()
        return self._connection

    async def start(self) -> None:
        """Start it, unless it runs, and wait until it is ready. Raises RpcError."""
        if self._state in _OVER:
            self._restarts = Restarts(self._supervision, random.random)
            self._retired, self._reason = False, "it is starting"
            self._spawn()
        if self._process is not None:
            self._connection.attach()
        self._keep_beating()
        await self._until(lambda: self._state not in _BETWEEN)
        if not self.ready:
            raise RpcError(self._reason)

    async def over(self) -> None:
        """Wait until it runs no more and is not started again. Raises RpcError where it was given up."""
        await self._until(lambda: self._state in _OVER)
        if self._state is _State.GIVEN_UP:
            raise RpcError(self._reason)

    def retire(self) -> None:
        """It may end now: it is not started again."""
        self._retired = True

    async def end(self, patience_s: float = 0.0) -> None:
        """End it, failing what runs; it is killed after `patience_s`. A second call does nothing."""
        self._state, self._reason = _State.STOPPED, "closed"
        process, self._process = self._process, None
        if process is not None:
            self._connection.close()
            self._dying.append(process)
        self._wake()
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + patience_s
        while any(dying.poll() is None for dying in self._dying):
            if loop.time() >= give_up_s:
                for dying in self._dying:
                    dying.kill()
            await asyncio.sleep(_LOOK_S)
        self._dying.clear()

    def _spawn(self) -> None:
        """Start the process and tell it what it is to be."""
        self._state, self._failure, self._full = _State.STARTING, "", False
        self._heartbeat = Heartbeat(self._supervision)
        self._due_s = time.monotonic() + self._supervision.start_s
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                self._run(ours, theirs)
        except OSError as error:
            self._not_started(f"no process can be started: {error}")
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

    def _run(self, ours: socket.socket, theirs: socket.socket) -> None:
        try:
            with self._program.inherited() as inherited:
                self._process = self._program.run(theirs, inherited)
        except OSError:
            ours.close()
            raise

    def _note(self, message: LifeMessage) -> None:
        match message:
            case Ready(facts):
                self.facts = facts
                self._restarts.ready(time.monotonic())
                self._state, self._reason = _State.READY, ""
                self._wake()
            case Failed(reason):
                self._failure = reason  # and the end of the connection follows
            case Pong(full):
                self._full = full
                self._heartbeat.answered()
            case Ping():
                self._connection.notify(Pong())

    def _keep_beating(self) -> None:
        """Have the process asked, in the event loop that is now, whether it is there."""
        loop = asyncio.get_running_loop()
        if self._beating is not loop and self._state not in _OVER:
            self._beating = loop
            loop.call_later(self._supervision.beat_s, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look after the process, once in an interval."""
        if self._beating is not loop:
            return
        self._beating = None
        self._dying = [process for process in self._dying if process.poll() is None]
        now_s = time.monotonic()
        if self._state is _State.WAITING and self._retired:
            self._state = _State.STOPPED
            self._wake()
        elif self._state is _State.WAITING and now_s >= self._due_s:
            self.restarts += 1
            self._spawn()
        elif self._state is _State.STARTING and self._restarts.was_ready and now_s >= self._due_s:
            self._kill(f"it was not ready after {self._supervision.start_s:.0f} s, and was killed")
        elif self._state is _State.READY:
            if self._heartbeat.beat(now_s):
                self._connection.notify(Ping())
            elif self._heartbeat.state == "hung":
                self._kill(f"it did not answer for {self._heartbeat.silent_s:.1f} s, and was killed")
        self._keep_beating()

    def _kill(self, reason: str) -> None:
        """It hangs. A killed process takes its time to end, so that this does not wait for it."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        self._dying.append(process)
        self._failure = reason
        self._connection.lose()

    def _lost(self) -> str:
        """The process died, or hung and was killed; another one is started. The reason."""
        told_why, reason = bool(self._failure), self._failure
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # its end of the socket closes as it exits: this waits for no work of its own
            status = process.wait()
            reason = reason or f"the worker process died (exit status {status})"
        self._start_again(reason, told_why)
        self._on_lost(reason)
        self._wake()
        return reason

    def _not_started(self, reason: str) -> None:
        self._start_again(reason, told_why=True)
        self._wake()

    def _start_again(self, reason: str, told_why: bool) -> None:
        """At once, later, or not at all."""
        self._reason = reason
        if self._retired:
            self._state = _State.STOPPED
            return
        now_s = time.monotonic()
        wait_s = self._restarts.lost(now_s, told_why)
        if wait_s is None:
            self._state = _State.GIVEN_UP
            if not told_why:
                self._reason = f"given up after {STARTS_IN_A_ROW} starts that failed: {reason}"
        elif wait_s:
            self._state, self._due_s = _State.WAITING, now_s + wait_s
            self._reason = f"{reason}; it is started again"
        else:
            self.restarts += 1
            self._spawn()
            self._reason = f"{reason}; it is being started again"

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
