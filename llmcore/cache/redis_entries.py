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
from llmcore.cache.policy.semantic_cache import Entry, NearEntry
from llmcore.cache.vectors import DIMENSIONS, IndexThread, Vector, VectorIndex

PREFIX = "voiceagent:semantic_cache:"
STREAM = f"{PREFIX}added"
TIMEOUT_S = 0.5
"""Time limit of Redis; lookups have a shorter one of their own."""
PAGE_SIZE = 500


class RedisEntries:
    """About `capacity` entries at most, in the Redis at `url` (redis://..., rediss://..., unix://...)."""

    def __init__(self, url: str, capacity: int) -> None:
        self._redis: Redis = Redis.from_url(
            # no retries by the client: a lookup has only milliseconds
            url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=None,
        )
        self._capacity = capacity
        self._index = VectorIndex(capacity)
        self._thread = IndexThread()
        self._last_read_id = b"0"
        self._reading = asyncio.Lock()

    async def start(self) -> None:
        """Read the list of entries. Raises EntriesError."""
        async with _convert_redis_errors():
            await self._read_stream()

    async def close(self) -> None:
        self._thread.close()
        async with _convert_redis_errors():
            await self._redis.aclose()

    async def find_near(self, agent: str, vector: Vector, threshold: float) -> list[NearEntry]:
        """Return the live entries near a question. Raises EntriesError."""
        async with _convert_redis_errors():
            await self._read_stream()
            while found := await self._thread.run(self._index.find_near, agent, vector, threshold):
                values = await self._redis.mget([PREFIX + key for key, _ in found])
                near = [
                    NearEntry(cosine, Entry(**json.loads(value)))
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
        async with _convert_redis_errors(), self._redis.pipeline(transaction=True) as transaction:
            transaction.set(PREFIX + entry.key, json.dumps(asdict(entry)), px=max(1, round(ttl_s * 1000)))
            transaction.xadd(STREAM, entry_fields, maxlen=self._capacity, approximate=True)
            await transaction.execute()

    async def remove(self, entry: Entry) -> None:
        """Remove an entry for all servers. Raises EntriesError."""
        async with _convert_redis_errors():
            await self._redis.unlink(PREFIX + entry.key)
        await self._thread.run(self._index.remove, entry.key)

    async def clear(self) -> None:
        """Remove all entries for all servers. Raises EntriesError."""
        async with _convert_redis_errors():
            await self._read_stream()
            keys = await self._thread.run(self._index.clear)
            await self._redis.unlink(STREAM, *(PREFIX + key for key in keys))

    async def _read_stream(self) -> None:
        """Read new items of the stream, by this server and others."""
        # one reader: two at once would add new items twice
        async with self._reading:
            while True:
                answer: Any = await self._redis.xrange(STREAM, min=b"(" + self._last_read_id, count=PAGE_SIZE)
                if answer:
                    await self._thread.run(self._add, [entry for _, entry in answer])
                    self._last_read_id = answer[-1][0]
                if len(answer) < PAGE_SIZE:
                    return

    def _add(self, added: list[dict[bytes, bytes]]) -> None:
        for entry in added:
            vector = np.frombuffer(entry[b"vector"], "<f4")
            if len(vector) == DIMENSIONS:
                self._index.add(entry[b"agent"].decode(), entry[b"key"].decode(), vector)


@asynccontextmanager
async def _convert_redis_errors() -> AsyncIterator[None]:
    """Convert the client's exceptions to EntriesError."""
    try:
        yield
    except (RedisError, OSError, ValueError, TypeError, KeyError) as error:
        raise EntriesError(f"Redis does not answer: {error}") from error
