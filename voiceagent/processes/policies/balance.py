"""Which worker gets the next connection: one is filled before the next. Pure.

A process that wakes for one call wakes for all it has, at most 50 times a second: calls spread over many
processes cost as many cold starts of everything. Times are seconds of one clock.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

UNCOUNTED_S = 1.0
"""How long a connection may take to become a call that is counted, and part of what its worker reports."""
FIRST_COST = 0.01
"""Part of a core that a call is taken to cost before that is known: twice what one over a phone line costs.
"""
FIRST_CALLS_S = 36_000.0
"""`FIRST_COST` counts as much as so many seconds of calls: calls that come at once say nothing before they
are heard."""
MEMORY_S = 3600.0
"""After so long, what calls cost counts only a third (1/e) of what it counted at first."""
LATE_S = 0.02
"""A worker that is usually later than that is full, however little it computes: others have its core."""


class WorkerLoad(NamedTuple):
    """What is known of a worker. busy: the part of a core that it computes. lag_s: how late it usually is."""

    calls: int
    busy: float = 0.0
    lag_s: float = 0.0


class CallCost:
    """What a call of this server costs: a part of a core, the mean of its last calls."""

    def __init__(self) -> None:
        self._busy_s = 0.0
        self._calls_s = 0.0
        self._observed_s: float | None = None

    def observe(self, now_s: float, workers: Sequence[WorkerLoad]) -> None:
        """What they do now is taken for what they did since the last time."""
        passed_s = 0.0 if self._observed_s is None else now_s - self._observed_s
        self._observed_s = now_s
        kept = math.exp(-passed_s / MEMORY_S)
        having_calls = [worker for worker in workers if worker.calls]
        self._busy_s = kept * self._busy_s + passed_s * sum(worker.busy for worker in having_calls)
        self._calls_s = kept * self._calls_s + passed_s * sum(worker.calls for worker in having_calls)

    @property
    def mean(self) -> float:
        """The part of a core that a call takes; at first a guess, which fades as calls are seen."""
        return (self._busy_s + FIRST_COST * FIRST_CALLS_S) / (self._calls_s + FIRST_CALLS_S)


class Balance:
    """Picks the worker with the most calls that one more leaves under `threshold`: a part of a core. Where
    there is none, it picks the one with the fewest: a call lasts minutes, and chance would leave one worker
    with more. One that is later than `max_lag_s` gets nothing while another is in time.

    A connection counts as a call for its first second, so that many at once are spread as well.
    """

    def __init__(self, threshold: float, max_lag_s: float) -> None:
        self._threshold = threshold
        self._max_lag_s = max_lag_s
        self._cost = CallCost()
        self._recent: deque[tuple[float, int]] = deque()

    def pick(self, now_s: float, workers: Sequence[WorkerLoad], able: Collection[int]) -> int:
        """One of the workers that are `able` to take it."""
        self._cost.observe(now_s, workers)
        while self._recent and self._recent[0][0] <= now_s - UNCOUNTED_S:
            self._recent.popleft()
        came = Counter(worker for _, worker in self._recent)
        cost = self._cost.mean

        def order(number: int) -> tuple[bool, bool, int, int]:
            worker, new = workers[number], came[number] + 1
            calls = worker.calls + new
            # by what it does and by what its calls will do: those that have just come are not yet heard
            load = max(worker.busy + cost * new, cost * calls)
            full = load > self._threshold or worker.lag_s > LATE_S
            return worker.lag_s > self._max_lag_s, full, calls if full else -calls, number

        picked = min(able, key=order)
        self._recent.append((now_s, picked))
        return picked
