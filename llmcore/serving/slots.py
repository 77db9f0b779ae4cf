"""A bounded number of works at once; those that wait are let in by priority, then by arrival."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from itertools import count


class Busy(Exception):
    """All slots are taken and as many wait as may."""


class PrioritySlots:
    """`slots` works run at once and at most `max_waiting` wait. One caller has at most half of the slots.

    When another comes while that many wait, the one of the largest priority number among them all, the newest
    of its equals, is refused.
    """

    def __init__(self, slots: int, max_waiting: int) -> None:
        self._free = slots
        self._share = max(1, slots // 2)
        self._held: Counter[str] = Counter()
        self._max_waiting = max_waiting
        self._arrivals = count()
        self._queue: list[tuple[int, int, asyncio.Future[None], str]] = []

    @property
    def free(self) -> int:
        """Slots that nobody has."""
        return self._free

    @property
    def waiting(self) -> int:
        """Works that wait for a slot."""
        return sum(1 for _, _, future, _ in self._queue if not future.done())

    async def acquire(self, priority: int = 0, caller: str = "") -> None:
        """Wait for a slot. Raises Busy. Cancelling gives the wait up. caller: whose it is, if anybody's."""
        if self._free and self._has_room(caller):
            self._free -= 1
            self._hold(caller)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (priority, next(self._arrivals), future, caller))
        # those who gave up leave here: a heap has no way to remove one
        self._queue = [entry for entry in self._queue if not entry[2].done()]
        heapq.heapify(self._queue)
        if len(self._queue) > self._max_waiting:
            refused = max(self._queue)
            refused[2].set_exception(Busy())
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release(caller)  # it was let in and cancelled in the same instant
            raise

    def hurry(self, caller: str, priority: int) -> None:
        """What this caller waits for is as urgent as that, unless it is more so already."""
        self._queue = [
            (min(entry[0], priority), *entry[1:]) if entry[3] == caller else entry for entry in self._queue
        ]
        heapq.heapify(self._queue)

    def release(self, caller: str = "") -> None:
        """Give a slot of a caller back: the first in the queue who may have it gets it."""
        if caller:
            self._held[caller] -= 1
            if not self._held[caller]:
                del self._held[caller]
        self._free += 1
        waiting = sorted(entry for entry in self._queue if not entry[2].done())
        for entry in waiting:
            if self._free and self._has_room(entry[3]):
                self._free -= 1
                self._hold(entry[3])
                entry[2].set_result(None)
        self._queue = [entry for entry in waiting if not entry[2].done()]

    def _has_room(self, caller: str) -> bool:
        return not caller or self._held[caller] < self._share

    def _hold(self, caller: str) -> None:
        if caller:
            self._held[caller] += 1
