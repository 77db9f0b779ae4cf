"""A blocking engine in worker processes, as async iterators.

Each worker is a fresh interpreter (nothing forked, the caller's main module not imported) that serves many
streams at once over one socket. No thread is used and the event loop is not blocked. A worker that dies fails
its running streams and is started again for the next ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from audio.worker_channel import Channel
from audio.worker_link import Served, WorkerLink
from audio.worker_messages import Item, encode

__all__ = ["Host", "Served"]


class Host:
    """Serves streams from `workers` processes of one engine; each stream goes to the least busy one."""

    def __init__(self, served: Served, workers: int = 1) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}; allowed: 1 or more")
        self._served = served
        self._links = [WorkerLink(served) for _ in range(workers)]

    @property
    def facts(self) -> dict[str, Any]:
        """What the engine tells of itself; empty before the start."""
        return self._links[0].facts

    @property
    def restarts(self) -> int:
        """How often a worker died and was started again."""
        return sum(link.restarts for link in self._links)

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that run."""
        return [link.process_id for link in self._links if link.process_id is not None]

    async def start(self) -> None:
        """Start the workers and wait until all are ready. Raises the engine's error; none is left running."""
        try:
            await asyncio.gather(*(link.start() for link in self._links))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the workers, failing what runs in them; a second call does nothing."""
        await asyncio.gather(*(link.close() for link in self._links))

    async def stream(self, items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """What the engine makes of `items`, as it makes it.

        `items` is asked for more only while less than the send window is unread at the worker, and closed in
        the end. Closing the generator tells the worker and does not wait for it. Raises the engine's error,
        and whatever `items` raises.
        """
        link = min(self._links, key=lambda link: link.busy)
        channel = link.open()

        async def feed() -> None:
            async with aclosing(items):
                async for item in items:
                    frame = encode(Item(channel.number, item))
                    await channel.room(len(frame), self._served.send_window)
                    link.send_frame(channel, frame)
            link.finish(channel)

        feeding = asyncio.create_task(feed())
        feeding.add_done_callback(lambda task: _fail(channel, task))
        try:
            while (arrival := await channel.take()) is not None:
                value, size = arrival
                link.credit(channel, size)
                yield value
        finally:
            link.abandon(channel)
            feeding.cancel()
            await asyncio.wait([feeding])


def _fail(channel: Channel, feeding: asyncio.Task[None]) -> None:
    """What the caller's iterator raised ends the stream."""
    if not feeding.cancelled() and (error := feeding.exception()) is not None:
        channel.end(error)
