"""One stream of a worker process, at the host's end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any


class Channel:
    """The host's end of one stream."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.over = False
        self._failure: BaseException | None = None
        self._arrived: deque[tuple[Any, int]] = deque()
        self._unread_there = 0
        self._changed = asyncio.Event()

    def arrive(self, value: Any, size: int) -> None:
        """Note a value from the worker, `size` bytes on the wire."""
        self._arrived.append((value, size))
        self._changed.set()

    def withdraw(self, worthless: Callable[[Any], bool]) -> int:
        """Drop the newest unread value where it is worthless now; its size, or 0."""
        if self._arrived and worthless(self._arrived[-1][0]):
            return self._arrived.pop()[1]
        return 0

    def read_there(self, size: int) -> None:
        """The worker has read so many bytes."""
        self._unread_there -= size
        self._changed.set()

    def end(self, failure: BaseException | None = None) -> None:
        """No more will arrive; `failure`, where there is one, is raised after what has."""
        if not self.over:
            self.over = True
            self._failure = failure
            self._changed.set()

    async def room(self, size: int, window: int) -> None:
        """Wait until `size` bytes more may be unread at the worker; anything may when nothing is."""
        while self._unread_there and self._unread_there + size > window and not self.over:
            await self._change()
        self._unread_there += size

    async def take(self) -> tuple[Any, int] | None:
        """The next value and its size; None at the end. Raises what the stream failed with."""
        while not self._arrived:
            if self._failure is not None:
                raise self._failure
            if self.over:
                return None
            await self._change()
        return self._arrived.popleft()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
