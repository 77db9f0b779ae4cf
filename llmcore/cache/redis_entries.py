"""Entries in Redis, shared among servers. Each server holds all vectors in memory and follows the others'
additions.

An entry is a key that Redis expires. A stream lists the entries with their vectors; each lookup first reads
its new items. A vector is dropped when its entry is found expired.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from redis.asyncio import Redis
from redis.exceptions import RedisError

from llmcore.cache.entries import EntriesError
from llmcore.cache.policy.semantic_cache import Entry, Near
from llmcore.cache.vector_index import IndexThread, VectorIndex
from llmcore.cache.vectors import DIMENSIONS, Vector

PREFIX = "voiceagent:semantic_cache:"
STREAM = f"{PREFIX}added"
PATIENCE_S = 0.5
"""Time limit of Redis; lookups have a shorter one of their own."""
READ_AT_ONCE = 500


class RedisEntries:
    """About `capacity` entries at most, in the Redis at `url` (redis://..., rediss://..., unix://...)."""

    def __init__(self, url: str, capacity: int) -> None:
        self._redis: Redis = Redis.from_url(
            # no retries by the client: a lookup has only milliseconds
            url,
            socket_timeout=PATIENCE_S,
            socket_connect_timeout=PATIENCE_S,
            retry=None,
        )
        self._capacity = capacity
        self._index = VectorIndex(capacity)
        self._thread = IndexThread()
        self._read_to = b"0"
        self._reading = asyncio.Lock()

    async def start(self) -> None:
        """Read the list of entries. Raises EntriesError."""
        async with _errors_of_redis():
            await self._follow()

    async def close(self) -> None:
        """Close the connections."""
        self._thread.close()
        async with _errors_of_redis():
            await self._redis.aclose()

    async def near(self, agent: str, vector: Vector, threshold: float) -> list[Near]:
        """Return the live entries near a question. Raises EntriesError."""
        async with _errors_of_redis():
            await self._follow()
            while found := await self._thread.run(self._index.near, agent, vector, threshold):
                values = await self._redis.mget([PREFIX + key for key, _ in found])
                near = [
                    Near(cosine, Entry(**json.loads(value)))
                    for (_, cosine), value in zip(found, values, strict=True)
                    if value is not None
                ]
                if len(near) == len(found):
                    return near
                for key in {key for key, _ in found} - {kept.entry.key for kept in near}:
                    await self._thread.run(self._index.remove, key)
        return []

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        """Store an entry, and announce it to the other servers. Raises EntriesError."""
        entry_fields: dict[Any, Any] = {
            "agent": entry.agent,
            "key": entry.key,
            "vector": vector.astype("<f4").tobytes(),
        }
        async with _errors_of_redis(), self._redis.pipeline(transaction=True) as together:
            together.set(PREFIX + entry.key, json.dumps(asdict(entry)), px=max(1, round(ttl_s * 1000)))
            together.xadd(STREAM, entry_fields, maxlen=self._capacity, approximate=True)
            await together.execute()

    async def remove(self, entry: Entry) -> None:
        """Remove an entry for all servers. Raises EntriesError."""
        async with _errors_of_redis():
            await self._redis.unlink(PREFIX + entry.key)
        await self._thread.run(self._index.remove, entry.key)

    async def clear(self) -> None:
        """Remove all entries for all servers. Raises EntriesError."""
        async with _errors_of_redis():
            await self._follow()
            keys = await self._thread.run(self._index.clear)
            await self._redis.unlink(STREAM, *(PREFIX + key for key in keys))

    async def _follow(self) -> None:
        """Read new items of the stream, by this server and others."""
        # one reader: two at once would add new items twice
        async with self._reading:
            while True:
                answer: Any = await self._redis.xrange(STREAM, min=b"(" + self._read_to, count=READ_AT_ONCE)
                if answer:
                    await self._thread.run(self._add, [entry for _, entry in answer])
                    self._read_to = answer[-1][0]
                if len(answer) < READ_AT_ONCE:
                    return

    def _add(self, added: list[dict[bytes, bytes]]) -> None:
        for entry in added:
            vector = np.frombuffer(entry[b"vector"], "<f4")
            if len(vector) == DIMENSIONS:
                self._index.add(entry[b"agent"].decode(), entry[b"key"].decode(), vector)


@asynccontextmanager
async def _errors_of_redis() -> AsyncIterator[None]:
    """Convert the client's exceptions to EntriesError."""
    try:
        yield
    except (RedisError, OSError, ValueError, TypeError, KeyError) as error:
        raise EntriesError(f"Redis does not answer: {error}") from error
