"""Event queue of a forked call, on a virtual clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from voiceagent.conversation import events as ev


@dataclass(order=True, slots=True)
class Planned:
    """A planned event. event: None to poll the speaker. valid: called at that time; False drops the event."""

    at_s: float
    order: int
    event: ev.Event | None = field(compare=False)
    valid: Callable[[], bool] = field(compare=False)


class Agenda:
    """Priority queue of events by time; events of the same time keep their order."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []
        self._order = count()

    def plan(self, at_s: float, event: ev.Event | None, valid: Callable[[], bool] = lambda: True) -> None:
        """Plan an event at `at_s` of the virtual clock."""
        heapq.heappush(self._planned, Planned(at_s, next(self._order), event, valid))

    def next(self, end_s: float) -> Planned | None:
        """Pop the next event up to `end_s`, if any."""
        if not self._planned or self._planned[0].at_s > end_s:
            return None
        return heapq.heappop(self._planned)

    def clear(self) -> None:
        """Drop all events."""
        self._planned.clear()
