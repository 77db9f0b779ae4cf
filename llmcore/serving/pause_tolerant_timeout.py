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
    Entering it again continues with the time left, or with all of it after `restart`.

    A timer outlives the wait that set it, for at most a part of the limit, and serves the next one: a reply
    is waited for token by token, and timers for each would cost as much as passing it on.

    limit_s: the time limit; None sets none yet.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._left_s = limit_s or 0.0
        self._interval_began_s = 0.0
        self._task: asyncio.Task[object] | None = None  # while entered
        self._cancelling = 0  # cancellations of the task before it was entered
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._checks_at_s = 0.0
        self._expiry: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        if self.limit_s is not None:
            self._begin_interval()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        if self.limit_s is not None:
            self._subtract_elapsed()
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self._expired:
            self._expired = False
            # as `asyncio.timeout`: not if others cancel the task too
            if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise TimeoutError from error

    def restart(self, limit_s: float) -> None:
        """Set the limit of the next wait, between two."""
        self.limit_s = self._left_s = limit_s

    def set_limit(self, limit_s: float) -> None:
        """Set the limit, counted from now, if there is none yet."""
        if self.limit_s is None:
            self.limit_s = self._left_s = limit_s
            if self._task is not None:
                self._begin_interval()

    def _begin_interval(self) -> None:
        """Schedule the next check: after a part of the limit, or when no time is left."""
        loop = asyncio.get_running_loop()
        self._interval_began_s = now_s = loop.time()
        after_s = min(self._interval_s, self._left_s)
        if self._timer is not None:
            if self._checks_at_s <= now_s + after_s:
                return
            self._timer.cancel()
        self._checks_at_s = now_s + after_s
        self._timer = loop.call_later(after_s, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._task is None:
            return
        self._subtract_elapsed()
        if self._left_s > 0:
            self._begin_interval()
        else:
            # after all pending reads, which may complete the awaited future
            self._expiry = asyncio.get_running_loop().call_soon(self._expire)

    def _expire(self) -> None:
        self._expiry = None
        if self._task is not None:
            self._expired = True
            self._task.cancel()

    def _subtract_elapsed(self) -> None:
        self._left_s -= min(asyncio.get_running_loop().time() - self._interval_began_s, self._interval_s)

    @property
    def _interval_s(self) -> float:
        return (self.limit_s or 0.0) / _INTERVALS
