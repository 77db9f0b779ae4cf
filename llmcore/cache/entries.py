"""Where the entries of the semantic cache are kept: what every place does, and the one in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from llmcore.cache.policy.semantic_cache import Entry, Near
from llmcore.cache.vector_index import IndexThread, VectorIndex
from llmcore.cache.vectors import Vector


class EntriesError(Exception):
    """The place where entries are kept does not answer; the text says which and why."""


class Entries(Protocol):
    """Keeps entries for their time to live, and finds those near a question."""

    async def start(self) -> None:
        """Be ready. Raises EntriesError."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    async def near(self, agent: str, vector: Vector, threshold: float) -> list[Near]:
        """The entries of `agent` whose questions are at least so near, nearest first. Raises EntriesError."""
        ...

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        """Keep an entry for `ttl_s` seconds, in place of one with its key. Raises EntriesError."""

    async def remove(self, entry: Entry) -> None:
        """Forget an entry, if it is there. Raises EntriesError."""

    async def clear(self) -> None:
        """Forget all entries. Raises EntriesError."""


class MemoryEntries:
    """Entries in this process, gone with it: at most `capacity`; beyond that the oldest goes."""

    def __init__(self, capacity: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._index = VectorIndex(capacity)
        self._thread = IndexThread()
        self._entries: dict[str, tuple[Entry, float]] = {}

    async def start(self) -> None:
        """There is nothing to prepare."""

    async def close(self) -> None:
        """End the thread."""
        self._thread.close()

    async def near(self, agent: str, vector: Vector, threshold: float) -> list[Near]:
        """The entries near a question; those that are too old are forgotten on the way."""
        while True:
            found = await self._thread.run(self._index.near, agent, vector, threshold)
            kept = [(self._entries[key], cosine) for key, cosine in found if key in self._entries]
            # looked for anew without them: they stood in the way of others that are as near
            stale = [entry for (entry, until_s), _ in kept if self._clock() >= until_s]
            if not stale:
                return [Near(cosine, entry) for (entry, _), cosine in kept]
            for entry in stale:
                await self.remove(entry)

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        """Keep an entry."""
        self._entries[entry.key] = entry, self._clock() + ttl_s
        # the index says which are the oldest: it alone is changed in order
        for key in await self._thread.run(self._index.add, entry.agent, entry.key, vector):
            self._entries.pop(key, None)

    async def remove(self, entry: Entry) -> None:
        """Forget an entry."""
        self._entries.pop(entry.key, None)
        await self._thread.run(self._index.remove, entry.key)

    async def clear(self) -> None:
        """Forget all entries."""
        self._entries.clear()
        await self._thread.run(self._index.clear)
