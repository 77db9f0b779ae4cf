from __future__ import annotations

import asyncio
import gc
import re
import threading
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest
from scripted_llm import HANG, ScriptedLlm
from word_vectors import WordVectors

from llmcore.cache.cached_engine import ENTRIES_RETRY_S, AuditSettings, CachedLlm, Miss
from llmcore.cache.entries import EntriesError, MemoryEntries
from llmcore.cache.policy.audit import LOOK_UPS
from llmcore.cache.policy.semantic_cache import CacheableClass, NearEntry, Rules
from llmcore.cache.vectors import EmbeddingError, Vector
from llmcore.engine import Delta, LlmError, Message, Request, Tool, ToolCall, Usage

SYSTEM = Message("system", "You keep the desk.")
RULES = Rules((CacheableClass((re.compile("pool|bar", re.I),), 60.0, self_contained=True),), 0.9)
NEVER, ALWAYS = AuditSettings(0.0, 0.8, 0.0, 300.0), AuditSettings(1.0, 0.8, 0.0, 300.0)


@dataclass
class Told:
    """Notifications of a cache, in order."""

    events: list[str] = field(default_factory=list)

    def on_hit(self) -> None:
        self.events.append("hit")

    def on_miss(self, reason: Miss) -> None:
        self.events.append(reason)

    def on_stored(self) -> None:
        self.events.append("stored")

    def on_audited(self, agreed: bool) -> None:
        self.events.append("agreed" if agreed else "disagreed")

    def on_switched(self, off: str) -> None:
        self.events.append(f"off: {off}" if off else "on")


class Away(MemoryEntries):
    """Entries in memory that can be out of reach."""

    def __init__(self) -> None:
        super().__init__(100)
        self.away = True

    async def find_near(self, agent: str, vector: Vector, threshold: float) -> list[NearEntry]:
        if self.away:
            raise EntriesError("gone fishing")
        return await super().find_near(agent, vector, threshold)

    async def start(self) -> None:
        if self.away:
            raise EntriesError("gone fishing")


class World:
    """A cache before a scripted engine, with a clock of its own. Every hit is audited where audits are."""

    def __init__(
        self, *script: object, audits: AuditSettings = NEVER, entries: MemoryEntries | None = None
    ) -> None:
        self.engine = ScriptedLlm(list(script) or ["The pool", " is open."], usage=Usage(30, 10, 5))
        self.entries = entries or MemoryEntries(100)
        self.vectors = WordVectors()
        self.told = Told()
        self.now_s = 0.0
        self.llm = CachedLlm(
            self.engine, self.entries, self.vectors, RULES, audits, self.told, lambda: self.now_s, lambda: 0.0
        )

    async def ask(self, text: str = "Is the pool open?", *before: Message, **settings: object) -> list[Delta]:
        deltas = self.llm.generate(ask(text, *before, **settings))
        async with aclosing(deltas):
            return [delta async for delta in deltas]

    async def say(self, text: str = "Is the pool open?", *before: Message) -> str:
        return "".join(delta.text for delta in await self.ask(text, *before))

    async def told_of(self, event: str, times: int = 1) -> None:
        async with asyncio.timeout(30):
            while self.told.events.count(event) < times:  # noqa: ASYNC110 - told by a callback of the cache
                await asyncio.sleep(0.01)

    async def filled(self, text: str = "Is the pool open?") -> World:
        """With the reply to one question stored."""
        await self.ask(text)
        await self.told_of("stored")
        return self


def ask(text: str, *before: Message, **settings: object) -> Request:
    return replace(Request((SYSTEM, *before, Message("user", text))), **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine a look-up is not to be late unless the test wants it."""
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 30.0)


async def test_a_question_is_answered_by_the_engine_once():
    world = World()
    assert await world.say() == "The pool is open."
    await world.told_of("stored")
    assert await world.say("is the POOL open") == "The pool is open."
    assert len(world.engine.requests) == 1
    assert world.told.events == ["unknown", "stored", "hit"]


async def test_a_hit_looks_like_the_engines_reply():
    world = await World("One two three.").filled()
    deltas = await world.ask()
    assert [delta.text for delta in deltas] == ["One", " two", " three.", ""]
    assert deltas[-1] == Delta(finish_reason="stop", usage=Usage(30, 30, 5)), "nothing had to be read"
    assert all(delta.finish_reason is None for delta in deltas[:-1])


async def test_a_self_contained_question_is_answered_within_a_call_too():
    world = await World().filled()
    history = (Message("user", "I am Anna."), Message("assistant", "Hello Anna."))
    await world.say("Is the pool open?", *history)
    assert world.told.events[-1] == "hit"


async def test_a_reply_that_knew_what_was_said_before_is_never_stored():
    world = World("The pool is open, Anna.")
    await world.say("Is the pool open?", Message("user", "I am Anna."), Message("assistant", "Hello Anna."))
    await world.say()
    assert world.told.events[:2] == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        ("Why is the sky blue?", {}, "no_class"),
        ("My name is Anna, is the pool open?", {}, "personal"),
        ("Is the pool open?", {"tools": (Tool("book", "Books."),)}, "tools"),
    ],
)
async def test_what_may_not_be_cached_goes_to_the_engine_with_the_reason(text, settings, reason):
    world = World()
    for _ in range(2):
        await world.ask(text, **settings)
    assert world.told.events == [reason, reason]
    assert len(world.engine.requests) == 2
    assert world.vectors.embedded == [], "and costs nothing"


@pytest.mark.parametrize(
    "script",
    [
        ["Half a", Delta(finish_reason="length")],
        [Delta(tool_calls=(ToolCall("1", "book", "{}"),)), Delta(finish_reason="tool_calls")],
        [" "],
        ["word " * 1000],
    ],
    ids=["cut short", "a tool is called", "empty", "very long"],
)
async def test_only_whole_replies_are_stored(script):
    world = World(*script)
    world.engine.usage = None if isinstance(script[-1], Delta) else Usage()
    llm_reply = world.llm.generate(ask("Is the pool open?"))
    async with aclosing(llm_reply):
        async for delta in llm_reply:
            if delta.finish_reason is not None:
                break
    await world.llm.close()
    assert world.told.events == ["unknown"]


async def test_a_broken_off_reply_is_not_stored_and_stops_the_engine():
    world = World("The pool", HANG)
    deltas = world.llm.generate(ask("Is the pool open?"))
    await anext(deltas)
    await deltas.aclose()
    assert world.engine.running == 0
    assert world.told.events == ["unknown"]


async def test_an_engine_that_fails_fails_as_without_the_cache():
    world = World(LlmError("broken"))
    with pytest.raises(LlmError, match="broken"):
        await world.ask()


async def test_the_embedding_is_there_when_the_turn_is_over():
    world = World()
    assert await world.llm.prefill(ask("Is the pool open?")) == Usage(30, 10, 5), "the engine reads as well"
    await world.say()
    await world.say()
    assert world.vectors.embedded == ["Is the pool open?"]


async def test_the_engine_reads_at_once_while_the_embedding_takes_its_time():
    world, wait = World(), threading.Event()
    embed = world.vectors.embed
    world.vectors.embed = lambda text: wait.wait(30) and embed(text)  # type: ignore[method-assign]
    await world.llm.prefill(ask("Is the pool open?"))
    assert len(world.engine.prefills) == 1
    wait.set()


async def test_a_look_up_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 0.01)
    world, wait = World(), threading.Event()
    embed = world.vectors.embed
    world.vectors.embed = lambda text: wait.wait(30) and embed(text)  # type: ignore[method-assign]
    assert await world.say() == "The pool is open."
    assert world.told.events == ["late"]
    wait.set()
    await world.told_of("stored")
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 30.0)
    await world.say()
    assert world.told.events[-1] == "hit", "what was late is there the next time"


async def test_giving_up_a_turn_does_not_give_up_the_embedding_of_others():
    world, wait, began = World(), threading.Event(), threading.Event()
    embed = world.vectors.embed

    def slow(text: str) -> Vector:
        began.set()
        wait.wait(30)
        return embed(text)

    world.vectors.embed = slow  # type: ignore[method-assign]
    turn = asyncio.create_task(world.say())
    await asyncio.to_thread(began.wait, 30)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    wait.set()
    await world.filled()
    assert world.vectors.embedded == ["Is the pool open?"]


async def test_an_embedding_that_fails_in_the_pause_is_no_lost_exception():
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
    world = World()
    failed = threading.Event()

    def broken(text: str) -> Vector:
        failed.set()
        raise EmbeddingError("broken")

    world.vectors.embed = broken  # type: ignore[method-assign]
    await world.llm.prefill(ask("Is the pool open?"))
    await asyncio.to_thread(failed.wait, 30)
    assert await world.say() == "The pool is open.", "nor a lost call"
    assert world.told.events == ["failed"]
    await world.llm.wait_until_stored()
    await world.llm.close()
    gc.collect()
    await asyncio.sleep(0)
    assert lost == []


async def test_while_the_embedding_is_busy_nothing_is_begun_ahead():
    world, wait = World(), threading.Event()
    embed = world.vectors.embed
    world.vectors.embed = lambda text: wait.wait(30) and embed(text)  # type: ignore[method-assign]
    for text in ("Is the", "Is the pool", "Is the pool open", "Is the pool open now"):
        await world.llm.prefill(ask(text))
    wait.set()
    await world.say("the bar?")
    await world.told_of("stored")
    assert world.vectors.embedded == ["Is the pool", "the bar?"]


async def test_an_audit_that_agrees_changes_nothing():
    world = await World(audits=ALWAYS).filled()
    await world.say()
    await world.told_of("agreed")
    await world.say()
    assert world.told.events.count("hit") == 2
    assert world.llm.why_off == ""


async def test_an_audit_asks_the_same_after_everybody_else():
    world = await World(audits=ALWAYS).filled()
    await world.ask(due_s=3.0)
    await world.told_of("agreed")
    audit = world.engine.requests[-1]
    assert (audit.priority_class, audit.due_s, audit.messages) == (
        "prefill",
        None,
        ask("Is the pool open?").messages,
    )


async def test_an_entry_that_the_engine_contradicts_is_removed():
    world = await World("The pool opens at 7.", audits=ALWAYS).filled()
    world.engine.scripts = [["The pool opens at 9."]]
    assert await world.say() == "The pool opens at 7."
    await world.told_of("disagreed")
    assert await world.say() == "The pool opens at 9."


async def test_an_engine_that_cannot_answer_proves_nothing():
    world = await World(audits=ALWAYS).filled()
    world.engine.scripts = [[LlmError("busy")]]
    await world.say()
    async with asyncio.timeout(30):
        while len(world.engine.requests) < 2:  # noqa: ASYNC110 - the audit is a task of the cache
            await asyncio.sleep(0.01)
    await world.say()
    assert world.told.events == ["unknown", "stored", "hit", "hit"]


async def disagree(world: World) -> None:
    """Three entries in a row turn out to be wrong."""
    for n, text in enumerate(("the pool?", "the bar?", "pool or bar?"), start=1):
        world.engine.scripts = [[f"At {n}."]]
        await world.say(text)
        await world.told_of("stored", n)
        world.engine.scripts = [["At 99."]]
        await world.say(text)
        await world.told_of("disagreed", n)


async def test_too_few_hits_turn_the_cache_off_for_a_while():
    world = World(audits=AuditSettings(0.0, 0.8, 0.1, 300.0))
    for n in range(LOOK_UPS):
        await world.say(f"the pool on day {n}?")
    assert "off: hits" in world.told.events
    assert world.llm.why_off == "hits"
    world.now_s = 300.0
    await world.say("the pool?")
    assert "on" in world.told.events


async def test_too_many_disagreements_empty_the_cache_and_turn_it_off():
    world = World(audits=ALWAYS)
    await world.say("a bar with a pool?")
    await world.told_of("stored")
    world.told.events.clear()
    await disagree(world)
    await world.told_of("off: audit")
    assert world.llm.why_off == "audit"
    await world.say("a bar with a pool?")
    assert world.told.events[-1] == "off"
    world.now_s = 300.0
    assert world.llm.why_off == ""
    await world.say("a bar with a pool?")
    assert world.told.events.count("on") == 1
    assert "unknown" in world.told.events[world.told.events.index("on") :], "nothing old is left"


async def test_without_entries_calls_go_on_and_it_is_said_once(caplog: pytest.LogCaptureFixture):
    entries = Away()
    world = World(entries=entries)
    await world.llm.start()
    for n in range(3):
        world.now_s = n * ENTRIES_RETRY_S
        assert await world.say() == "The pool is open."
    assert [record.message for record in caplog.records] == ["the semantic cache is off: gone fishing"]
    assert world.told.events == ["off: entries", "off", "off", "off"]
    entries.away = False
    world.now_s += ENTRIES_RETRY_S
    await world.filled()
    assert world.told.events[4:] == ["on", "unknown", "stored"]
    await world.llm.close()


async def test_it_starts_and_closes_its_engine_and_loads_its_model():
    world = World()
    await world.llm.start()
    assert (world.engine.started, world.vectors.loaded) == (1, 1)
    await world.llm.close()
    await world.llm.close()
    assert world.engine.closed == 2


async def test_a_model_that_cannot_be_loaded_is_a_failure_to_start():
    world = World()

    def broken() -> None:
        raise EmbeddingError("no weights")

    world.vectors.load = broken  # type: ignore[method-assign]
    with pytest.raises(LlmError, match="no weights"):
        await world.llm.start()


async def test_closing_ends_what_is_going_on_in_the_background():
    world = await World(audits=ALWAYS).filled()
    world.engine.scripts = [[HANG]]
    await world.say()
    async with asyncio.timeout(30):
        while not world.engine.running:  # noqa: ASYNC110 - the audit is a task of the cache
            await asyncio.sleep(0.01)
    await world.llm.close()
    assert world.engine.running == 0
