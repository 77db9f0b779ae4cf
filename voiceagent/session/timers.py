"""Timers of calls: a shared one for paced audio, and one per timed event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import ceil

from voiceagent.conversation.events import Event
from voiceagent.processes.rounds import InRound, rounds_of

TICK_S = 0.005
"""Maximum lateness of a wake-up: small against the 60 ms that frames are sent ahead."""
_EARLY_S = 0.001
"""Maximum time by which a timer of the event loop may fire early."""

Wake = Callable[[], None]


class Pacer:
    """Wakes many callbacks with one timer of the event loop, which runs only while one waits.

    clock: monotonic seconds. in_rounds: use the ticks of the process, if it has any: late by up to one
    tick, but without a wake-up of its own. It moves to another event loop with its users once the first is
    closed.
    """

    def __init__(self, clock: Callable[[], float], in_rounds: bool = False) -> None:
        self.clock = clock
        self._in_rounds = in_rounds
        self._ticks: dict[int, dict[Wake, None]] = {}  # callbacks of each tick, in order
        self._waking: dict[Wake, None] = {}  # callbacks of the current tick that are still to be called
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: int | None = None
        self._timer: asyncio.TimerHandle | InRound | None = None

    def wake(self, at_s: float, wake: Wake) -> int:
        """Call `wake` once, at the first tick at or after `at_s`. Return the tick, for `forget`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._next, self._timer = loop, None, None
            # a closed event loop wakes nothing
            self._ticks.clear()
        tick = ceil(at_s / TICK_S)
        self._ticks.setdefault(tick, {})[wake] = None
        if self._next is None or tick < self._next:
            self._arm(tick)
        return tick

    def forget(self, tick: int, wake: Wake) -> None:
        self._ticks.get(tick, self._waking).pop(wake, None)

    def _arm(self, tick: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = tick
        after_s = max(0.0, tick * TICK_S - self.clock())
        loop = asyncio.get_running_loop()
        later = rounds_of(loop).call_later if self._in_rounds else loop.call_later
        self._timer = later(after_s, self._tick)

    def _tick(self) -> None:
        """Call all callbacks that are due. An exception of one does not affect the others."""
        self._timer = self._next = None
        now = int((self.clock() + _EARLY_S) / TICK_S)
        # a loop that stalled has several to catch up on
        for tick in sorted(tick for tick in self._ticks if tick <= now):
            self._waking = self._ticks.pop(tick)
            while self._waking:
                wake = next(iter(self._waking))
                del self._waking[wake]
                self._call(wake)
        if self._ticks:
            self._arm(min(self._ticks))

    def _call(self, wake: Wake) -> None:
        try:
            wake()
        except Exception as error:  # any failure
            context = {"message": "a paced call failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)


class EventTimer:
    """Posts one event after a time, unless it is armed again or disarmed before."""

    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, after_s: float, event: Event) -> None:
        """Post `event` in `after_s` seconds."""
        self.disarm()
        self._handle = asyncio.get_running_loop().call_later(after_s, self._post, event)

    def disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
