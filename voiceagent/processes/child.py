"""Lifecycle of one child process and its connection: start, readiness, loss, restart, end.

Used for engines and for call workers.
"""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from llmcore.serving.busy_time import busy_time_s
from voiceagent.processes.messages import (
    Failed,
    LifeMessage,
    Notification,
    Ping,
    Pong,
    Ready,
    RpcError,
    Start,
)
from voiceagent.processes.policies.liveness import STARTS_IN_A_ROW, Heartbeat, Restarts, Supervision
from voiceagent.processes.program import Program, TerminatingProcesses
from voiceagent.processes.rounds import until_multiple_s
from voiceagent.processes.rpc import RpcConnection

_SUPERVISION = Supervision()


class _State(Enum):
    STOPPED = auto()
    STARTING = auto()
    READY = auto()
    WAITING = auto()
    GIVEN_UP = auto()


_ENDED = (_State.STOPPED, _State.GIVEN_UP)
_BEFORE_READY = (_State.STARTING, _State.WAITING)


@dataclass(frozen=True, slots=True)
class _Phase:
    """State of the process. reason: why it is not ready. due_s: deadline of a start, or time of the next."""

    state: _State
    reason: str = ""
    due_s: float = 0.0


class _ChangeCondition:
    """Condition variable for waiters in any event loop."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            change = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            # a waiter of a closed loop cannot be woken, and must not prevent the others from being woken
            if not change.done() and not change.get_loop().is_closed():
                change.set_result(None)


def _exit_description(status: int) -> str:
    """Describe how a process ended. status: from `Popen.wait`."""
    return f"exit status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"


class Child:
    """One process, killed when it hangs and restarted whenever it dies, without limit once it was ready.

    on_lost: called with the reason each time it died, after an immediate restart was begun. The instance may
    be used in one event loop after another, but in one at a time.
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
        self._phase = _Phase(_State.STOPPED, "not started")
        self._failure = ""
        self._retired = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: RpcConnection
        self._changes = _ChangeCondition()
        self._heartbeat = Heartbeat(supervision)
        self._restarts = Restarts(supervision, random.random)
        self._heartbeat_loop: asyncio.AbstractEventLoop | None = None
        self._terminating = TerminatingProcesses()

    @property
    def ready(self) -> bool:
        return self._phase.state is _State.READY

    @property
    def answers(self) -> bool:
        """True unless a heartbeat is late."""
        return self._heartbeat.state == "well"

    @property
    def ended(self) -> bool:
        """True if it is stopped or given up, and will not be restarted."""
        return self._phase.state in _ENDED

    @property
    def available(self) -> bool:
        """True if it can be given new work: it is ready, responsive and has free descriptors."""
        return self.ready and self.answers and not self._heartbeat.full

    @property
    def problem(self) -> str:
        """Reason why it does not work, or possibly not; "" if it works."""
        if self.ready and self.answers:
            return "it can take nothing more: no descriptor is left" if self._heartbeat.full else ""
        if self.ready:
            return f"no answer for {self._heartbeat.silent_s:.1f} s"
        return self._phase.reason

    @property
    def process_id(self) -> int | None:
        """Process id; None while there is no process."""
        return None if self._process is None else self._process.pid

    @property
    def open_streams(self) -> int:
        """Number of open streams on its connection."""
        return 0 if self._process is None else self._connection.open_streams

    @property
    def connection(self) -> RpcConnection:
        """The connection, also during the start. Raises RpcError if there is no process."""
        if self._process is not None and self._process.poll() is not None:
            self._connection.lose()  # it died while no event loop was running
        if self._process is None:
            raise RpcError(self._phase.reason)
        self._schedule_heartbeat()
        return self._connection

    async def start(self) -> None:
        """Start the process unless it runs, and wait until it is ready. Raises RpcError."""
        if self.ended:
            # an explicit start resets the count of failed starts
            self._restarts = Restarts(self._supervision, random.random)
            self._retired = False
            self._spawn("it is starting")
        if self._process is not None:
            self._connection.attach()
        self._schedule_heartbeat()
        await self._changes.until(lambda: self._phase.state not in _BEFORE_READY)
        if not self.ready:
            raise RpcError(self._phase.reason)

    async def wait_until_ended(self) -> None:
        """Wait until it has ended and will not be restarted. Raises RpcError if it was given up."""
        await self._changes.until(lambda: self.ended)
        if self._phase.state is _State.GIVEN_UP:
            raise RpcError(self._phase.reason)

    def disable_restart(self) -> None:
        """Do not restart it when it ends."""
        self._retired = True

    async def end(self, patience_s: float = 0.0) -> None:
        """End it, failing its open streams; kill it after `patience_s`. Further calls do nothing."""
        self._phase = _Phase(_State.STOPPED, "closed")
        process, self._process = self._process, None
        if process is not None:
            self._connection.close()
            self._terminating.add(process)
        self._changes.wake()
        await self._terminating.end(patience_s)

    def _spawn(self, reason: str) -> None:
        """Start the process and send its task. reason: why there was none."""
        self._phase = _Phase(_State.STARTING, reason, time.monotonic() + self._supervision.start_s)
        self._failure = ""
        self._heartbeat = Heartbeat(self._supervision)
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                self._start_process(ours, theirs)
        except OSError as error:
            self._restart(f"no process can be started: {error}", reason_reported=True)
            self._changes.wake()
            return
        self._connection = RpcConnection(
            ours,
            self._program.services,
            opens_even=True,
            passed_on=self._program.passed_on,
            on_life=self._on_life_message,
            on_lost=self._on_connection_lost,
        )
        self._connection.attach()
        self._connection.notify(Start(self._program.task))

    def _start_process(self, ours: socket.socket, theirs: socket.socket) -> None:
        try:
            with self._program.inherited() as inherited:
                self._process = self._program.run(theirs, inherited)
        except OSError:
            ours.close()
            raise

    def _on_life_message(self, message: LifeMessage) -> None:
        match message:
            case Ready(facts):
                self.facts = facts
                self._restarts.ready(time.monotonic())
                self._phase = _Phase(_State.READY)
                self._changes.wake()
            case Failed(reason):
                self._failure = reason  # the connection closes next
            case Pong(full):
                self._heartbeat.on_reply(full)
            case Ping():
                self._connection.notify(Pong())
            case Notification(value):
                self._program.on_notification(value)

    def _schedule_heartbeat(self) -> None:
        """Schedule heartbeats in the current event loop."""
        loop = asyncio.get_running_loop()
        if self._heartbeat_loop is not loop and not self.ended:
            self._heartbeat_loop = loop
            loop.call_later(
                until_multiple_s(self._supervision.beat_s, time.monotonic()), self._on_heartbeat, loop
            )

    def _on_heartbeat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check the process once per interval: reap, restart, time out or send a heartbeat."""
        if self._heartbeat_loop is not loop:
            return
        self._heartbeat_loop = None
        self._terminating.reap()
        now_s = time.monotonic()
        state, due = self._phase.state, now_s >= self._phase.due_s
        if state is _State.WAITING and self._retired:
            self._phase = _Phase(_State.STOPPED, self._phase.reason)
            self._changes.wake()
        elif state is _State.WAITING and due:
            self.restarts += 1
            self._spawn(self._phase.reason)
        # the first start is not limited, as it may download a model
        elif state is _State.STARTING and self._restarts.was_ready and due:
            self._kill(f"it was not ready after {self._supervision.start_s:.0f} s, and was killed")
        elif state is _State.READY:
            # not before it is ready: it cannot answer while it loads
            if self._heartbeat.beat(now_s):
                self._connection.notify(Ping())
            elif self._heartbeat.state != "well":
                self._kill_if_hung()
        self._schedule_heartbeat()

    def _kill_if_hung(self) -> None:
        """Kill a late process that does nothing, or that has worked for too long."""
        assert self._process is not None
        if (busy_s := busy_time_s(self._process.pid)) is not None:
            self._heartbeat.record_busy_time(busy_s)
        if self._heartbeat.state == "hung":
            self._kill(f"it did not answer for {self._heartbeat.silent_s:.1f} s, and was killed")

    def _kill(self, reason: str) -> None:
        """Kill a hung process, without waiting for its end."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        self._terminating.add(process)
        self._failure = reason
        self._connection.lose()

    def _on_connection_lost(self) -> str:
        """Handle the loss of the connection: kill the process and restart it. Return the reason."""
        reason_reported, reason = bool(self._failure), self._failure
        process, self._process = self._process, None
        if process is not None:
            process.kill()  # its end of the socket closes only as it exits, so there is no work to wait for
            # it was killed or has died, so this returns quickly, and it leaves no zombie
            status = process.wait()
            reason = reason or f"the worker process died ({_exit_description(status)})"
        self._restart(reason, reason_reported)
        # after the restart has begun: the callback may use the new process at once
        self._on_lost(reason)
        self._changes.wake()
        return reason

    def _restart(self, reason: str, reason_reported: bool) -> None:
        """Restart the process: at once, later, or not at all."""
        if self._retired:
            self._phase = _Phase(_State.STOPPED, reason)
            return
        now_s = time.monotonic()
        wait_s = self._restarts.lost(now_s, reason_reported)
        if wait_s is None:
            if not reason_reported:
                reason = f"given up after {STARTS_IN_A_ROW} starts that failed: {reason}"
            self._phase = _Phase(_State.GIVEN_UP, reason)
        elif wait_s:
            self._phase = _Phase(_State.WAITING, f"{reason}; it is started again", now_s + wait_s)
        else:
            self.restarts += 1
            self._spawn(f"{reason}; it is being started again")
