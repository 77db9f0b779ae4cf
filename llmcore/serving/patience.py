"""A time-out that counts only the time in which this process could have heard the answer.

A server that was suspended (SIGSTOP, a frozen container, a machine that is moved) wakes with all of its
time-outs over, though nobody was late: what came meanwhile is still to be read, and who slept beside it has
his time yet.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

_PARTS = 20
"""The wait is divided into so many parts; a pause of this process, however long, counts as one of them at
most."""


class Patience:
    """As `asyncio.timeout`: `async with Patience(5.0):` raises TimeoutError. Entered again, it has
    left what it had.

    limit_s: for how long it lasts; None sets no limit yet.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._left_s = limit_s or 0.0
        self._counted_from_s = 0.0
        self._timeout: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._timeout = asyncio.timeout(None)
        await self._timeout.__aenter__()
        if self.limit_s is not None:
            self._wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        timeout, self._timeout = self._timeout, None
        if self._timer is not None:
            self._count()
            self._timer.cancel()
            self._timer = None
        assert timeout is not None
        await timeout.__aexit__(kind, error, traceback)

    def limit(self, limit_s: float) -> None:
        """Set the limit where there is none yet: it counts from now on."""
        if self.limit_s is None:
            self.limit_s = self._left_s = limit_s
            if self._timeout is not None:
                self._wait()

    def _wait(self) -> None:
        """Wait for a part of what is left."""
        loop = asyncio.get_running_loop()
        self._counted_from_s = loop.time()
        self._timer = loop.call_later(min(self._part_s, self._left_s), self._look)

    def _look(self) -> None:
        self._timer = None
        self._count()
        if self._left_s > 0:
            self._wait()
        elif self._timeout is not None:
            # behind all that has been read by now, which may wake who waits
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def _count(self) -> None:
        self._left_s -= min(asyncio.get_running_loop().time() - self._counted_from_s, self._part_s)

    @property
    def _part_s(self) -> float:
        return (self.limit_s or 0.0) / _PARTS
