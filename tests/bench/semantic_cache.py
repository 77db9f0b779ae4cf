"""Measure costs and gains of the semantic cache: `python tests/bench/semantic_cache.py [turns]`.

Needs `make semantic-cache`, and redis-server for the part about Redis.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from shutil import which

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1] / "support"))
from redis_server import redis_server

from examples.hotel_model.data.exchanges import Caller, Exchange
from examples.hotel_model.data.room_answers import ROOM_INTENTS
from llmcore.cache.cached_engine import AuditSettings, CachedLlm, Miss
from llmcore.cache.embedding import MiniLm
from llmcore.cache.entries import Entries, MemoryEntries
from llmcore.cache.policy.facts import facts, same_facts
from llmcore.cache.policy.semantic_cache import CacheableClass, Entry, Rules
from llmcore.cache.redis_entries import RedisEntries
from llmcore.cache.vectors import DIMENSIONS
from llmcore.engine import Llm, Message, Request
from llmcore.engines.ct2_engine import CTranslate2Llm
from voiceagent.demo.world import system_prompt

Ask = Callable[[Llm, Request], Awaitable[None]]
LOOK_ALIKES = Path(__file__).with_name("look_alikes.toml")
THRESHOLD = 0.9
"""As shipped."""
SIZES = (100, 1_000, 10_000)
DRAWS = 6
"""How many questions of each intent are drawn, for each of the demo's two sets of phrasings."""
EVERYTHING = CacheableClass((re.compile(""),), 3600.0, self_contained=True)


class Silent:
    """Counts hits."""

    hits = 0

    def on_hit(self) -> None:
        """Count a hit."""
        self.hits += 1

    def on_miss(self, reason: Miss) -> None:
        """Not of interest here, as the others."""

    def on_stored(self) -> None: ...
    def on_audited(self, agreed: bool) -> None: ...
    def on_switched(self, off: str) -> None: ...


async def timed(work: Callable[[], Awaitable[object]], times: int) -> list[float]:
    """Milliseconds of each run, sorted."""
    taken = []
    for _ in range(times):
        began_s = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began_s) * 1000)
    return sorted(taken)


def row(taken: list[float]) -> list[str]:
    """p50 and p95."""
    return [f"{taken[len(taken) // 2]:.2f}", f"{taken[int(len(taken) * 0.95)]:.2f}"]


async def look_ups(name: str, entries: Entries, turns: int, table: Table) -> None:
    """Measure a look-up among many entries, without the embedding."""
    random = np.random.default_rng(1)
    await entries.start()
    kept = 0
    for size in SIZES:
        vectors = random.standard_normal((size - kept, DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        for number, vector in enumerate(vectors, start=kept):
            await entries.put(Entry("agent", f"question {number}", "An answer.", 1, 1), vector, 3600.0)
        kept = size
        look_up = partial(entries.find_near, "agent", vectors[-1], 0.9)
        assert await look_up(), "the newest is not found"
        table.add_row(f"look-up among {size}, {name}", *row(await timed(look_up, turns)))
    await entries.close()


def questions() -> list[Exchange]:
    """Different questions to the demo's hotel, in many phrasings."""
    found: dict[str, Exchange] = {}
    for split in ("train", "heldout"):
        caller = Caller(split, Random(5))
        for _ in range(DRAWS):
            drawn = [caller.aspect(aspect) for aspect in caller.aspects]
            drawn += [caller.room(name) for name in dict.fromkeys(ROOM_INTENTS) for _ in range(2)]
            found |= {exchange.question: exchange for exchange in drawn}
    return list(found.values())


def quality(asked: list[Exchange], minilm: MiniLm) -> Table:
    """Return how many of the pairs that are near enough have the same answer and how many another, and the
    share of facts.
    """
    vectors = np.stack([minilm.embed(exchange.question) for exchange in asked])
    cosines, read = vectors @ vectors.T, [facts(exchange.question) for exchange in asked]
    near = [pair for pair in combinations(range(len(asked)), 2) if cosines[pair] >= 0.85]
    table = Table("threshold", "one answer", "of these kept", "other answer", "of these kept")
    for threshold in (0.85, 0.88, 0.9, 0.92, 0.95):
        counts = [0, 0, 0, 0]
        for one, other in near:
            if cosines[one, other] < threshold:
                continue
            wrong = 2 * (asked[one].must != asked[other].must)
            counts[wrong] += 1
            counts[wrong + 1] += same_facts(read[one], read[other])
        table.add_row(str(threshold), *map(str, counts))
    return table


def look_alikes(minilm: MiniLm) -> Table:
    """Return how many pairs of questions of general conversation share an answer, rightly and wrongly."""
    table = Table("written", "pairs", f"cosine {THRESHOLD} or more", "share an answer")
    for name, kinds in tomllib.loads(LOOK_ALIKES.read_text()).items():
        for kind, groups in kinds.items():
            pairs = [pair for group in groups for pair in combinations(group, 2)]
            near = [pair for pair in pairs if minilm.embed(pair[0]) @ minilm.embed(pair[1]) >= THRESHOLD]
            hits = [pair for pair in near if same_facts(facts(pair[0]), facts(pair[1]))]
            table.add_row(f"{name}, answer {kind}", str(len(pairs)), str(len(near)), str(len(hits)))
            if kind == "different":
                print("wrong:", hits)
    return table


@asynccontextmanager
async def demo() -> AsyncIterator[CTranslate2Llm]:
    """The demo model."""
    llm = CTranslate2Llm(
        Path(__file__).parents[2] / "voiceagent" / "demo" / "weights" / "ct2", kept_tokens=16_384
    )
    await llm.start()
    yield llm
    await llm.close()


async def first_token(llm: Llm, request: Request) -> None:
    """Up to the first piece of a response; the rest is given up."""
    async with aclosing(llm.generate(request)) as deltas:
        await anext(deltas)


async def whole(llm: Llm, request: Request) -> None:
    """A whole response."""
    async with aclosing(llm.generate(request)) as deltas:
        async for _ in deltas:
            pass


async def on_and_off(asked: list[Exchange], minilm: MiniLm, turns: int, table: Table) -> None:
    """Measure a caller's wait with the cache, with the embedding made in the pause and not, and without the
    cache.
    """
    prompts = [(Message("system", system_prompt()), Message("user", e.question)) for e in asked[:turns]]
    requests = [Request(messages) for messages in prompts]
    async with demo() as engine:
        told, entries = Silent(), MemoryEntries(10_000)

        def cached() -> CachedLlm:
            rules = Rules((EVERYTHING,), 0.9)
            return CachedLlm(engine, entries, minilm, rules, AuditSettings(0.0, 0.8, 0.0, 300.0), told)

        cache = cached()
        for request in requests:
            await whole(cache, request)
        await cache.wait_until_stored()
        for ask, part in ((first_token, "first token"), (whole, "whole response")):
            for name, llm in (("off", engine), ("hit, embedding made in the pause", cache)):
                table.add_row(f"{part}, cache {name}", *row(await timed_each(ask, llm, requests)))
        taken = sorted([(await timed_each(first_token, cached(), [each]))[0] for each in requests])
        table.add_row("first token, cache hit, embedding not made before", *row(taken))
        print(f"{told.hits} of {3 * len(requests)} were hits")


async def timed_each(ask: Ask, llm: Llm, requests: list[Request]) -> list[float]:
    """Milliseconds of each request, sorted."""
    each = iter(requests)
    return await timed(lambda: ask(llm, next(each)), len(requests))


async def main(turns: int) -> None:
    """Measure everything and print it."""
    minilm = MiniLm()
    minilm.load()
    asked = questions()
    table = Table("milliseconds", "p50", "p95")
    texts = iter([exchange.question for exchange in asked] * 2)
    table.add_row("embedding", *row(await timed(lambda: asyncio.to_thread(minilm.embed, next(texts)), turns)))
    await look_ups("memory", MemoryEntries(20_000), turns, table)
    if which("redis-server"):
        with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as server:
            await look_ups("Redis", RedisEntries(server.url, 20_000), turns, table)
    await on_and_off(asked, minilm, turns, table)
    Console().print(table)
    Console().print(f"pairs of {len(asked)} questions", quality(asked, minilm))
    Console().print("pairs of look-alikes", look_alikes(minilm))


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
