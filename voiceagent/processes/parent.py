"""Connection of a child process to its parent, in an event loop."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from voiceagent.processes.messages import LifeMessage, Ping, Pong, RpcError, Start
from voiceagent.processes.policies.liveness import Heartbeat, Supervision
from voiceagent.processes.rounds import until_multiple_s
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service

log = structlog.get_logger()


class Parent:
    """The connection to the parent, with heartbeats in both directions.

    The child never closes the connection: to the parent, that is the end of the process. full: returns True
    while this process cannot accept new work.
    """

    def __init__(self, descriptor: int, services: Mapping[str, Service], full: Callable[[], bool]) -> None:
        self._full = full
        self._task: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._heartbeat = Heartbeat(Supervision())
        self.connection = RpcConnection(
            socket.socket(fileno=descriptor),
            services,
            opens_even=False,
            on_life=self._on_life_message,
            on_lost=self._on_connection_lost,
        )
        self.connection.attach()

    async def task(self) -> Any:
        """Return the task of this process. Raises RpcError if the parent is gone."""
        return await self._task

    @property
    def problem(self) -> str:
        """Problem of the parent; "" if there is none."""
        heartbeat = self._heartbeat
        return "" if heartbeat.state == "well" else f"no answer for {heartbeat.silent_s:.1f} s"

    def report(self, full: bool) -> None:
        """Report at once, without a request, if this process can accept new work."""
        self.connection.notify(Pong(full))

    async def monitor(self, supervision: Supervision) -> None:
        """Send heartbeats to the parent, and log when it stops and resumes answering, until cancelled."""
        # the settings arrived with the task
        self._heartbeat, reported = Heartbeat(supervision), False
        while True:
            if self._heartbeat.beat(time.monotonic()):
                self.connection.notify(Ping())
            if bool(self.problem) is not reported:
                reported = not reported
                if reported:
                    log.error("supervisor_hung", reason=self.problem)
                else:
                    log.warning("supervisor_recovered")
            await asyncio.sleep(until_multiple_s(supervision.beat_s, time.monotonic()))

    def _on_life_message(self, message: LifeMessage) -> None:
        match message:
            case Start(task):
                self._task.set_result(task)
            case Ping():
                self.connection.notify(Pong(self._full()))
            case Pong():
                self._heartbeat.on_reply()

    def _on_connection_lost(self) -> str:
        reason = "the parent process is gone"
        if not self._task.done():
            self._task.set_exception(RpcError(reason))
        return reason
