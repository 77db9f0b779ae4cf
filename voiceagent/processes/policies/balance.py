"""Load balancing: one worker is filled before the next.

A process that wakes for one call wakes for all its calls, at most 50 times a second, so calls spread over
many processes cost as many wake-ups with cold caches. Times are seconds of one clock.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

UNCOUNTED_S = 1.0
"""Time until a new connection is counted as a call in its worker's report."""
FIRST_COST = 0.01
"""Prior for the CPU cost of a call, as a fraction of a core: twice that of a phone call."""
FIRST_CALLS_S = 36_000.0
"""Weight of the prior `FIRST_COST`, in seconds of calls: new calls do not show their cost yet."""
MEMORY_S = 3600.0
"""Time constant of the mean: after this time an observation counts 1/e."""
LATE_S = 0.02
"""Typical lag from which a worker counts as full, even with little CPU use: other programs have its core."""


class WorkerLoad(NamedTuple):
    """Load of a worker. busy: fraction of a core in use. lag_s: its typical event loop lag."""

    calls: int
    busy: float = 0.0
    lag_s: float = 0.0


class CallCost:
    """Mean CPU cost of a recent call, as a fraction of a core."""

    def __init__(self) -> None:
        self._busy_s = 0.0
        self._calls_s = 0.0
        self._observed_s: float | None = None

    def observe(self, now_s: float, workers: Sequence[WorkerLoad]) -> None:
        """Record the workers' current load as that of the time since the last observation."""
        passed_s = 0.0 if self._observed_s is None else now_s - self._observed_s
        self._observed_s = now_s
        kept = math.exp(-passed_s / MEMORY_S)
        having_calls = [worker for worker in workers if worker.calls]
        self._busy_s = kept * self._busy_s + passed_s * sum(worker.busy for worker in having_calls)
        self._calls_s = kept * self._calls_s + passed_s * sum(worker.calls for worker in having_calls)

    @property
    def mean(self) -> float:
        """Cost of a call: a prior at first, which fades as calls are observed."""
        return (self._busy_s + FIRST_COST * FIRST_CALLS_S) / (self._calls_s + FIRST_CALLS_S)


class Balance:
    """Picks the worker with the most calls that stays under `threshold`, a fraction of a core, with one more.
    If there is none, it picks the one with the fewest calls: calls last minutes, so a random choice would
    stay uneven. A worker with more lag than `max_lag_s` is picked only if all have.

    A new connection counts as a call for its first second, so that bursts are spread as well.
    """

    def __init__(self, threshold: float, max_lag_s: float) -> None:
        self._threshold = threshold
        self._max_lag_s = max_lag_s
        self._cost = CallCost()
        self._recent: deque[tuple[float, int]] = deque()

    def pick(self, now_s: float, workers: Sequence[WorkerLoad], able: Collection[int]) -> int:
        self._cost.observe(now_s, workers)
        while self._recent and self._recent[0][0] <= now_s - UNCOUNTED_S:
            self._recent.popleft()
        recent = Counter(worker for _, worker in self._recent)
        cost = self._cost.mean

        def order(number: int) -> tuple[bool, bool, int, int]:
            worker, new = workers[number], recent[number] + 1
            calls = worker.calls + new
            # the larger of observed and expected load, as new calls do not cost anything yet
            load = max(worker.busy + cost * new, cost * calls)
            full = load > self._threshold or worker.lag_s > LATE_S
            return worker.lag_s > self._max_lag_s, full, calls if full else -calls, number

        picked = min(able, key=order)
        self._recent.append((now_s, picked))
        return picked
