"""Rounds: moments, 20 ms apart, at which a busy process does together all that can wait for so long.

A wake-up costs more than most of what is done in it: in between, another process has had the processor's
caches. Whoever always has work joins, and keeps the rounds going; what others do later is done in them. In a
process that is not busy there are none, and everything is done at its own time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil, floor
from typing import NamedTuple
from weakref import WeakKeyDictionary

ROUND_S = 0.02
"""Seconds from one round to the next: as long as a packet of most phone lines."""
_EARLY = 0.05
"""Work that is due after a round by no more than this part of one is still done in it."""

Call = Callable[[], None]

_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, Rounds] = WeakKeyDictionary()


def rounds_of(loop: asyncio.AbstractEventLoop) -> Rounds:
    """The rounds of an event loop, which has one."""
    if loop not in _rounds:
        _rounds[loop] = Rounds()
    return _rounds[loop]


class InRound(NamedTuple):
    """A call that waits for its round."""

    calls: dict[Call, None]
    call: Call

    def cancel(self) -> None:
        """Do not make it."""
        self.calls.pop(self.call, None)


class Rounds:
    """Calls its members in every round, in the order in which they joined, and then what is due.

    The event loop is the running one. What one call raises is reported, and hurts no other.
    """

    def __init__(self) -> None:
        self._members: dict[Call, None] = {}
        self._due: dict[int, dict[Call, None]] = {}  # by the number of the round
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """Whether there are rounds now."""
        return bool(self._members)

    def join(self, member: Call) -> None:
        """Call it in every round from the next one on, and keep the rounds going."""
        self._members[member] = None
        if self._timer is None:
            self._arm()

    def leave(self, member: Call) -> None:
        """Call it no more. A second call does nothing."""
        self._members.pop(member, None)
        if self._timer is not None and not self._members and not self._due:
            self._timer.cancel()
            self._timer = None

    def call_later(self, after_s: float, call: Call) -> InRound | asyncio.TimerHandle:
        """Make the call after that time, in the first round that is due then; where there are no rounds, at
        the very time.
        """
        loop = asyncio.get_running_loop()
        if not self.running:
            return loop.call_later(after_s, call)
        now_s = loop.time()
        number = max(_after(now_s), ceil((now_s + after_s) / ROUND_S - _EARLY))
        calls = self._due.setdefault(number, {})
        calls[call] = None
        return InRound(calls, call)

    def _arm(self) -> None:
        # At whole multiples, so that a round that was late delays no other.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(_after(loop.time()) * ROUND_S, self._round)

    def _round(self) -> None:
        """Make the calls, and those again that are due a round later."""
        number = _after(asyncio.get_running_loop().time()) - 1
        self._timer = None
        if self._members or any(other > number for other in self._due):
            self._arm()
        for member in list(self._members):
            if member in self._members:  # it has not left in this round
                _make(member)
        if any(due <= number for due in self._due):
            # behind what the members have asked for: what they read is judged before anything is sent
            asyncio.get_running_loop().call_soon(self._make_due, number)

    def _make_due(self, number: int) -> None:
        # a loop that stood still has several to make up for
        for due in sorted(due for due in self._due if due <= number):
            calls = self._due.pop(due)
            while calls:
                call = next(iter(calls))
                del calls[call]
                _make(call)


def until_multiple_s(period_s: float, now_s: float) -> float:
    """The seconds to the next whole multiple of a period: what is done then by many wakes a process once."""
    return _after(now_s, period_s) * period_s - now_s


def _after(now_s: float, period_s: float = ROUND_S) -> int:
    """The number of the next round; one that is now, up to rounding, is no longer to come."""
    return floor(now_s / period_s + 0.1) + 1


def _make(call: Call) -> None:
    try:
        call()
    except Exception as error:  # whatever it is
        context = {"message": "a call in a round failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)
