"""Bounded concurrency with a queue ordered by priority, then arrival."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from itertools import count


class Busy(Exception):
    """All slots and all places in the queue are taken."""


class PrioritySlots:
    """`slots` jobs run at once, at most `max_waiting` wait. One caller has at most half of the slots.

    If another arrives while the queue is full, the job with the largest priority number of all, the newest of
    equals, is refused.
    """

    def __init__(self, slots: int, max_waiting: int) -> None:
        self._free = slots
        self._share = max(1, slots // 2)
        self._slots_of: Counter[str] = Counter()
        self._max_waiting = max_waiting
        self._arrivals = count()
        self._queue: list[tuple[int, int, asyncio.Future[None], str]] = []

    @property
    def free(self) -> int:
        return self._free

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a slot."""
        return sum(1 for _, _, future, _ in self._queue if not future.done())

    async def acquire(self, priority: int = 0, caller: str = "") -> None:
        """Wait for a slot. Raises Busy.

        Cancelling leaves the queue. caller: the slot's owner; "" for none.
        """
        if self._free and self._has_room(caller):
            self._free -= 1
            self._count_slot(caller)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (priority, next(self._arrivals), future, caller))
        # cancelled waiters are removed here: a heap cannot remove from the middle
        self._queue = [entry for entry in self._queue if not entry[2].done()]
        heapq.heapify(self._queue)
        if len(self._queue) > self._max_waiting:
            refused = max(self._queue)
            refused[2].set_exception(Busy())
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release(caller)  # admitted and cancelled in the same loop iteration
            raise

    def raise_priority(self, caller: str, priority: int) -> None:
        """Raise the priority of this caller's waiting jobs to `priority`, unless it is higher already."""
        self._queue = [
            (min(entry[0], priority), *entry[1:]) if entry[3] == caller else entry for entry in self._queue
        ]
        heapq.heapify(self._queue)

    def release(self, caller: str = "") -> None:
        """Return a caller's slot and admit the first waiting job that may have it."""
        if caller:
            self._slots_of[caller] -= 1
            if not self._slots_of[caller]:
                del self._slots_of[caller]
        self._free += 1
        waiting = sorted(entry for entry in self._queue if not entry[2].done())
        for entry in waiting:
            if self._free and self._has_room(entry[3]):
                self._free -= 1
                self._count_slot(entry[3])
                entry[2].set_result(None)
        self._queue = [entry for entry in waiting if not entry[2].done()]

    def _has_room(self, caller: str) -> bool:
        return not caller or self._slots_of[caller] < self._share

    def _count_slot(self, caller: str) -> None:
        if caller:
            self._slots_of[caller] += 1
