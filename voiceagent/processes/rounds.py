"""Common ticks, 20 ms apart, at which a busy process does all work that can wait that long.

A wake-up costs more than most of the work done in it, as other processes have used the CPU's caches in
between. Members with periodic work keep the ticks running; other delayed work is done in the same ticks. A
process without members has no ticks, and work is done at its own time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from math import ceil, floor
from typing import NamedTuple
from weakref import WeakKeyDictionary

ROUND_S = 0.02
"""Seconds between ticks: the packet length of most phone lines."""
_EARLY = 0.05
"""Work due after a tick by at most this fraction of a tick is done in it."""

Call = Callable[[], None]

_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, Rounds] = WeakKeyDictionary()


def rounds_of(loop: asyncio.AbstractEventLoop) -> Rounds:
    """Return the scheduler of an event loop, creating it at the first call."""
    if loop not in _rounds:
        _rounds[loop] = Rounds()
    return _rounds[loop]


class InRound(NamedTuple):
    """A callback scheduled for a tick. cancel: takes it out again."""

    calls: dict[Call, None]
    call: Call

    def cancel(self) -> None:
        self.calls.pop(self.call, None)


class Rounds:
    """Calls its members in every tick, in the order in which they joined, and then the calls that are due.

    Uses the running event loop. An exception of one call is reported and does not affect the others.
    """

    def __init__(self) -> None:
        self._members: dict[Call, None] = {}
        self._due: dict[int, dict[Call, None]] = {}  # by tick number
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """True if there are ticks now."""
        return bool(self._members)

    def join(self, member: Call) -> None:
        """Call this member in every tick from the next one on, and keep the ticks running."""
        self._members[member] = None
        if self._timer is None:
            self._arm()

    def leave(self, member: Call) -> None:
        """Stop calling this member. Further calls do nothing."""
        self._members.pop(member, None)
        if self._timer is not None and not self._members and not self._due:
            self._timer.cancel()
            self._timer = None

    def call_later(self, after_s: float, call: Call) -> InRound | asyncio.TimerHandle:
        """Make the call in the first tick due after that time; without ticks at exactly that time."""
        loop = asyncio.get_running_loop()
        if not self.running:
            return loop.call_later(after_s, call)
        now_s = loop.time()
        number = max(_after(now_s), ceil((now_s + after_s) / ROUND_S - _EARLY))
        calls = self._due.setdefault(number, {})
        calls[call] = None
        return InRound(calls, call)

    def _arm(self) -> None:
        # At whole multiples, so that one late tick does not delay the next.
        loop = asyncio.get_running_loop()
        # not in the context of the call that arms it, which log lines would name
        self._timer = loop.call_at(_after(loop.time()) * ROUND_S, self._round, context=Context())

    def _round(self) -> None:
        """Call the members, then schedule the calls that are due."""
        number = _after(asyncio.get_running_loop().time()) - 1
        self._timer = None
        if self._members or any(other > number for other in self._due):
            self._arm()
        for member in list(self._members):
            if member in self._members:  # it has not left in this tick
                _make(member)
        if any(due <= number for due in self._due):
            # after the calls that the members schedule: input is processed before output is sent
            asyncio.get_running_loop().call_soon(self._make_due, number)

    def _make_due(self, number: int) -> None:
        # a loop that stalled has several ticks to make up for
        for due in sorted(due for due in self._due if due <= number):
            calls = self._due.pop(due)
            while calls:
                call = next(iter(calls))
                del calls[call]
                _make(call)


def until_multiple_s(period_s: float, now_s: float) -> float:
    """Return the seconds to the next whole multiple of a period. Timers aligned this way share wake-ups."""
    return _after(now_s, period_s) * period_s - now_s


def _after(now_s: float, period_s: float = ROUND_S) -> int:
    """Return the number of the next tick, skipping one that is due now up to rounding."""
    return floor(now_s / period_s + 0.1) + 1


def _make(call: Call) -> None:
    try:
        call()
    except Exception as error:
        context = {"message": "a call in a round failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)
