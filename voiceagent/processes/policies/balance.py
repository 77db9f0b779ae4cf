"""Which worker gets the next connection. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

UNCOUNTED_S = 1.0
"""So long a connection may take to become a call that is counted."""


class Balance:
    """Picks the worker with the fewest calls. A call lasts minutes: chance would leave one worker with more.
    One that is late gets nothing while another is in time.

    A connection counts as a call for its first second, so that many at once are spread as well. Times are
    seconds of one clock.
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque()

    def pick(
        self, now_s: float, calls: Sequence[int], able: Collection[int], late: Collection[int] = ()
    ) -> int:
        """One of the workers that are `able` to take it; `calls`: of each worker. late: those that are."""
        while self._recent and self._recent[0][0] <= now_s - UNCOUNTED_S:
            self._recent.popleft()
        load = list(calls)
        for _, worker in self._recent:
            load[worker] += 1
        picked = min(able, key=lambda worker: (worker in late, load[worker], worker))
        self._recent.append((now_s, picked))
        return picked
