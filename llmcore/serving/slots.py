"""A bounded number of works at once; those that wait are let in by priority, then by arrival."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class Busy(Exception):
    """All slots are taken and as many wait as may."""


class PrioritySlots:
    """`slots` works run at once and at most `max_waiting` wait.

    When another comes while that many wait, the one of the largest priority number among them all, the newest
    of its equals, is refused.
    """

    def __init__(self, slots: int, max_waiting: int) -> None:
        self._free = slots
        self._max_waiting = max_waiting
        self._arrivals = count()
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []

    @property
    def free(self) -> int:
        """Slots that nobody has."""
        return self._free

    @property
    def waiting(self) -> int:
        """Works that wait for a slot."""
        return sum(1 for _, _, future in self._queue if not future.done())

    async def acquire(self, priority: int = 0) -> None:
        """Wait for a slot. Raises Busy. Cancelling gives the wait up."""
        if self._free:
            self._free -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (priority, next(self._arrivals), future))
        self._queue = [entry for entry in self._queue if not entry[2].done()]
        heapq.heapify(self._queue)
        if len(self._queue) > self._max_waiting:
            refused = max(self._queue)
            refused[2].set_exception(Busy())
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release()  # it was let in and cancelled in the same instant
            raise

    def release(self) -> None:
        """Give a slot back: the first in the queue gets it."""
        while self._queue:
            _, _, future = heapq.heappop(self._queue)
            if not future.done():
                future.set_result(None)
                return
        self._free += 1
