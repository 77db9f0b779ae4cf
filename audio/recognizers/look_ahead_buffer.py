"""Look-ahead buffer of an async generator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Generic, TypeVar

_T = TypeVar("_T")


class LookAheadBuffer(Generic[_T]):
    """Reads `source` in a task of its own, at most `limit` items ahead of the consumer.

    A context manager: leaving it ends the task and closes the source.
    """

    def __init__(self, source: AsyncGenerator[_T, None], limit: int) -> None:
        self._source = source
        self._items: asyncio.Queue[_T | None] = asyncio.Queue(limit)
        self._error: Exception | None = None

    async def __aenter__(self) -> LookAheadBuffer[_T]:
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    @property
    def waiting(self) -> bool:
        """True if the next item is available without waiting."""
        return not self._items.empty()

    async def next(self) -> _T | None:
        """Return the next item; None at the end. Raises the source's exception after the items before it."""
        item = await self._items.get()
        if item is None and self._error is not None:
            raise self._error
        return item

    async def _read(self) -> None:
        try:
            async with aclosing(self._source):
                async for item in self._source:
                    await self._items.put(item)
        except Exception as error:  # any exception is passed to the consumer
            self._error = error
        await self._items.put(None)
