"""What is still to happen in a call that is run again, on a virtual clock. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from voiceagent.conversation import events as ev


@dataclass(order=True, slots=True)
class Planned:
    """event: None where only the speaker has to be looked at. valid: whether it still happens, asked then."""

    at_s: float
    order: int
    event: ev.Event | None = field(compare=False)
    valid: Callable[[], bool] = field(compare=False)


class Agenda:
    """Events by the time when they happen; those of one time in the order in which they were planned."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []
        self._order = count()

    def plan(self, at_s: float, event: ev.Event | None, valid: Callable[[], bool] = lambda: True) -> None:
        """One more, at `at_s` by the virtual clock."""
        heapq.heappush(self._planned, Planned(at_s, next(self._order), event, valid))

    def next(self, end_s: float) -> Planned | None:
        """Take what happens next, if that is by `end_s`."""
        if not self._planned or self._planned[0].at_s > end_s:
            return None
        return heapq.heappop(self._planned)

    def clear(self) -> None:
        """Nothing of it happens."""
        self._planned.clear()
