"""Many callers on one event loop: one connection each, one timer for all.

It must cost little compared to the server that it measures: frames are created once, and only what is needed
is decoded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Protocol

from voiceagent.bench.caller import FRAME_S, Caller, Talker
from voiceagent.validation.errors import CommandFailed

SLOTS = 10
"""Callers are spread over this many moments of each 20 ms, as independent people would be."""
AGAIN_S = 5.0
"""Time after which a caller whom a busy server has refused calls again."""
Clock = Callable[[], float]


class ServerBusy(CommandFailed):
    """The server refused a call as it can take no more now (HTTP 503)."""


class Connection(Protocol):
    """The transport of a simulated caller. caller: set once they may speak. failure: why it broke off."""

    caller: Talker | None
    failure: str

    def speak(self, now_s: float) -> None:
        """Send what the caller has spoken by now."""

    def hang_up(self) -> None:
        """Close the call normally."""


class Crowd:
    """Keeps `size` calls running, replacing each that ends, until cancelled.

    connect: opens a call; raises CommandFailed if it is refused. new_caller: returns the next caller for a
    call that begins at the given time. lateness_s: lateness of each tick. broken: why calls broke off early.
    refused: why a busy server refused calls; these are tried again. called_s: seconds of all calls together.
    """

    def __init__(
        self,
        size: int,
        connect: Callable[[], Awaitable[Connection]],
        new_caller: Callable[[float], Caller],
        clock: Clock,
    ) -> None:
        self._size = size
        self._connect = connect
        self._new_caller = new_caller
        self._clock = clock
        self._slots: list[list[Connection]] = [[] for _ in range(SLOTS)]
        self.lateness_s: list[float] = []
        self.broken: list[str] = []
        self.refused: list[str] = []
        self.called_s = 0.0
        self._reached = False

    def restart(self) -> None:
        """Reset what is counted."""
        self.lateness_s.clear()
        self.broken.clear()
        self.refused.clear()
        self.called_s = 0.0

    async def run(self, ramp_s: float) -> None:
        """Run the calls; the first begin within `ramp_s`. Raises CommandFailed if one is refused, unless the
        server is busy with others.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pace(), name="pace")
                for place in range(self._size):
                    group.create_task(self._call_again(place, ramp_s * place / self._size))
        except* CommandFailed as failures:
            raise failures.exceptions[0] from None

    async def _call_again(self, place: int, after_s: float) -> None:
        """Make one call after another."""
        await asyncio.sleep(after_s)
        while True:
            try:
                await self._call(self._slots[place % SLOTS])
            except ServerBusy as busy:
                if not self._reached:
                    raise
                self.refused.append(str(busy))
                await asyncio.sleep(AGAIN_S)

    async def _call(self, slot: list[Connection]) -> None:
        connection = await self._connect()
        self._reached = True
        connection.caller = caller = self._new_caller(self._clock())
        slot.append(connection)
        try:
            while not caller.finished and not connection.failure:  # noqa: ASYNC110  low urgency
                await asyncio.sleep(FRAME_S * SLOTS)
            if connection.failure:
                self.broken.append(connection.failure)
        finally:
            slot.remove(connection)
            connection.hang_up()

    async def _pace(self) -> None:
        """Run the timer: in each slot's moment its callers send what they have spoken."""
        round_s = FRAME_S / SLOTS
        begin_s = self._clock()
        for turn in count(1):
            due_s = begin_s + turn * round_s
            await asyncio.sleep(max(0.0, due_s - self._clock()))
            now_s = self._clock()
            self.lateness_s.append(now_s - due_s)
            slot = self._slots[turn % SLOTS]
            self.called_s += FRAME_S * len(slot)
            for connection in slot:
                connection.speak(now_s)
