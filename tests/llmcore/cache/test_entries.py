from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from redis_server import RedisServer, redis_server
from word_vectors import WordVectors

from llmcore.cache.entries import Entries, EntriesError, MemoryEntries
from llmcore.cache.policy.semantic_cache import Entry

VECTORS = WordVectors()
POOL, BAR = (Entry("agent", text, f"About the {text}.", 30, 5) for text in ("pool", "bar"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("redis", reason="Redis' client is not installed: make semantic-cache")
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


def in_redis(server: RedisServer, capacity: int = 100) -> Entries:
    from llmcore.cache.redis_entries import RedisEntries  # noqa: PLC0415 - where the client is there

    return RedisEntries(server.url, capacity)


@pytest.fixture(params=["memory", "redis"])
async def entries(request: pytest.FixtureRequest) -> AsyncIterator[Entries]:
    kept: Entries = (
        MemoryEntries(100) if request.param == "memory" else in_redis(request.getfixturevalue("server"))
    )
    await kept.start()
    await kept.clear()
    yield kept
    await kept.close()
    await kept.close()


async def put(entries: Entries, *kept: Entry, ttl_s: float = 60.0) -> None:
    for entry in kept:
        await entries.put(entry, VECTORS.embed(entry.question), ttl_s)


async def found(entries: Entries, text: str, agent: str = "agent") -> list[Entry]:
    return [near.entry for near in await entries.find_near(agent, VECTORS.embed(text), 0.9)]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110 - a store can only be asked again
            await asyncio.sleep(0.02)


async def test_an_entry_is_found_by_what_is_near_its_question(entries):
    await put(entries, POOL, BAR)
    assert await found(entries, "Pool!") == [POOL]
    assert await found(entries, "sauna") == []
    assert await found(entries, "pool", agent="another") == []


async def test_the_nearest_comes_first_with_its_cosine(entries):
    close = Entry("agent", "pool pool pool bar", "r", 1, 1)
    await put(entries, close, POOL)
    near = await entries.find_near("agent", VECTORS.embed("pool"), 0.5)
    assert [n.entry for n in near] == [POOL, close]
    assert near[0].cosine == pytest.approx(1, abs=1e-5)
    assert near[0].cosine > near[1].cosine


async def test_a_later_reply_to_the_same_words_replaces_the_first(entries):
    later = Entry("agent", "POOL", "News of the pool.", 30, 5)
    await put(entries, POOL, later)
    assert await found(entries, "pool") == [later]


async def test_what_is_removed_is_not_found(entries):
    await put(entries, POOL, BAR)
    await entries.remove(POOL)
    await entries.remove(POOL)
    assert await found(entries, "pool") == []
    await entries.clear()
    assert await found(entries, "bar") == []


async def test_an_entry_is_gone_at_the_end_of_its_time(entries):
    await put(entries, POOL, ttl_s=0.05)
    await put(entries, BAR)

    async def gone() -> bool:
        return not await found(entries, "pool")

    await until(gone)
    assert await found(entries, "bar") == [BAR]


async def test_entries_in_memory_live_by_the_clock_given():
    now_s = [0.0]
    entries = MemoryEntries(10, lambda: now_s[0])
    await put(entries, POOL, ttl_s=10.0)
    now_s[0] = 9.9
    assert await found(entries, "pool") == [POOL]
    now_s[0] = 10.0
    assert await found(entries, "pool") == []
    await entries.close()


async def test_beyond_the_capacity_of_memory_the_oldest_goes():
    entries = MemoryEntries(1)
    await put(entries, POOL, BAR)
    assert (await found(entries, "pool"), await found(entries, "bar")) == ([], [BAR])
    await entries.close()


async def test_servers_share_what_is_in_redis(server):
    one, other = in_redis(server), in_redis(server)
    await one.start()
    await one.clear()
    await put(one, POOL)
    await other.start()
    assert await found(other, "pool") == [POOL], "what was there before it"
    await put(one, BAR)
    assert await found(other, "bar") == [BAR], "what came after"
    await other.remove(BAR)
    assert await found(one, "bar") == []
    await other.clear()
    assert await found(one, "pool") == []
    for entries in (one, other):
        await entries.close()


async def test_redis_keeps_the_time_to_live(server):
    from redis.asyncio import Redis  # noqa: PLC0415 - where the client is there

    entries = in_redis(server)
    await put(entries, POOL, ttl_s=1000.0)
    client = Redis.from_url(server.url)
    (key,) = [key async for key in client.scan_iter(f"*{POOL.key}")]
    assert 0 < await client.ttl(key) <= 1000
    await client.aclose()
    await entries.close()


async def test_a_redis_away_is_an_error_and_used_when_back(tmp_path: Path):
    pytest.importorskip("redis", reason="Redis' client is not installed: make semantic-cache")
    with redis_server(tmp_path) as server:
        entries = in_redis(server)
        await entries.start()
        await put(entries, POOL)
        server.stop()
        for asked in (found(entries, "pool"), put(entries, BAR), entries.remove(POOL), entries.clear()):
            with pytest.raises(EntriesError, match="Redis does not answer"):
                await asked
        server.start()
        assert await found(entries, "pool") == [], "it came back without its memory"
        await put(entries, POOL)
        assert await found(entries, "pool") == [POOL]
        await entries.close()
