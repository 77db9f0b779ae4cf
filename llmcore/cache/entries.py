"""Storage of the semantic cache: the interface, and entries in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from llmcore.cache.policy.semantic_cache import Entry, NearEntry
from llmcore.cache.vectors import IndexThread, Vector, VectorIndex


class EntriesError(Exception):
    """The store does not answer; the text names it and the reason."""


class Entries(Protocol):
    """Store of entries with a time to live, searched by question."""

    async def start(self) -> None:
        """Prepare the store. Raises EntriesError."""

    async def close(self) -> None:
        """Release all resources; a second call does nothing."""

    async def find_near(self, agent: str, vector: Vector, threshold: float) -> list[NearEntry]:
        """Return the entries of `agent` with questions of at least cosine `threshold`, closest first. Raises
        EntriesError.
        """
        ...

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        """Store an entry for `ttl_s` seconds, replacing one with the same key. Raises EntriesError."""

    async def remove(self, entry: Entry) -> None:
        """Remove an entry, if present. Raises EntriesError."""

    async def clear(self) -> None:
        """Remove all entries. Raises EntriesError."""


class MemoryEntries:
    """Entries in this process. Beyond `capacity` the oldest is dropped."""

    def __init__(self, capacity: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._index = VectorIndex(capacity)
        self._thread = IndexThread()
        self._entries: dict[str, tuple[Entry, float]] = {}

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """End the thread."""
        self._thread.close()

    async def find_near(self, agent: str, vector: Vector, threshold: float) -> list[NearEntry]:
        """Return the entries near a question, removing expired ones."""
        while True:
            found = await self._thread.run(self._index.find_near, agent, vector, threshold)
            kept = [(self._entries[key], cosine) for key, cosine in found if key in self._entries]
            # search again without them: they took the places of other near entries
            stale = [entry for (entry, until_s), _ in kept if self._clock() >= until_s]
            if not stale:
                return [NearEntry(cosine, entry) for (entry, _), cosine in kept]
            for entry in stale:
                await self.remove(entry)

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        self._entries[entry.key] = entry, self._clock() + ttl_s
        # eviction order is the index's, as only its thread changes it in order
        for key in await self._thread.run(self._index.add, entry.agent, entry.key, vector):
            self._entries.pop(key, None)

    async def remove(self, entry: Entry) -> None:
        self._entries.pop(entry.key, None)
        await self._thread.run(self._index.remove, entry.key)

    async def clear(self) -> None:
        self._entries.clear()
        await self._thread.run(self._index.clear)
