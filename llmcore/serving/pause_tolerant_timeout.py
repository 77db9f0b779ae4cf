"""A time-out that excludes pauses of this process.

A process that was suspended (SIGSTOP, a frozen container, a migrated machine) wakes with every timer expired,
although replies that arrived meanwhile are still unread in its sockets. So a pause counts for little, and
expired timers run after the pending reads.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

_INTERVALS = 20
"""Parts into which the wait is divided; a pause of this process counts as at most one of them."""


class PauseTolerantTimeout:
    """A context manager like `asyncio.timeout`: `async with PauseTolerantTimeout(5.0):` raises TimeoutError.
    Entering it again continues with the time left.

    limit_s: the time limit; None sets none yet.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._left_s = limit_s or 0.0
        self._interval_began_s = 0.0
        self._timeout: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._timeout = asyncio.timeout(None)
        await self._timeout.__aenter__()
        if self.limit_s is not None:
            self._schedule_check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        timeout, self._timeout = self._timeout, None
        if self._timer is not None:
            self._subtract_elapsed()
            self._timer.cancel()
            self._timer = None
        assert timeout is not None
        await timeout.__aexit__(kind, error, traceback)

    def set_limit(self, limit_s: float) -> None:
        """Set the limit, counted from now, if there is none yet."""
        if self.limit_s is None:
            self.limit_s = self._left_s = limit_s
            if self._timeout is not None:
                self._schedule_check()

    def _schedule_check(self) -> None:
        """Schedule the next check, after one part of the time left."""
        loop = asyncio.get_running_loop()
        self._interval_began_s = loop.time()
        self._timer = loop.call_later(min(self._interval_s, self._left_s), self._check)

    def _check(self) -> None:
        self._timer = None
        self._subtract_elapsed()
        if self._left_s > 0:
            self._schedule_check()
        elif self._timeout is not None:
            # after all pending reads, which may complete the awaited future
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def _subtract_elapsed(self) -> None:
        self._left_s -= min(asyncio.get_running_loop().time() - self._interval_began_s, self._interval_s)

    @property
    def _interval_s(self) -> float:
        return (self.limit_s or 0.0) / _INTERVALS
