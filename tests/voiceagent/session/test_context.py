"""Context for a turn: sources that are asked while the caller speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from call_services import call_monitor, call_services
from prometheus_client import CollectorRegistry
from scripted_llm import ScriptedLlm
from typed_call import Deaf
from word_vectors import WordVectors

from llmcore.cache.vectors import Vectors
from llmcore.engine import Generation, Message, Usage
from llmcore.text.prompt import PromptLayout
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.session.config import ContextConfig
from voiceagent.session.context import ContextSources, Source, TurnContext
from voiceagent.session.llm_work import LlmWork
from voiceagent.session.turn_stamps import TurnStamps
from voiceagent.telemetry.metrics import ContextMetrics

SYSTEM = Message("system", "You are the desk of a hotel.")
POOL = "the pool opens at seven"
LIFT = "there is a lift beside the bar"


class World:
    """One call's turns, with sources of a test; relevance by the words that two texts share."""

    def __init__(self, *, deadline_s: float = 30.0, **sources: Source) -> None:
        self.registry = CollectorRegistry()
        config = ContextConfig(deadline_s=deadline_s)
        vectors = Vectors(WordVectors())
        self.sources = ContextSources(sources, config, vectors, ContextMetrics(self.registry))
        self.arrived = asyncio.Event()
        self.turn = TurnContext(self.sources, {}, self.arrived.set)
        self.history: tuple[Message, ...] = (SYSTEM,)

    def so_far(self, words: str) -> str:
        return self.turn.with_context_so_far((*self.history, Message("user", words)))[-1].content

    async def whole(self, words: str) -> tuple[Message, ...]:
        return await self.turn.with_final_context((*self.history, Message("user", words)))

    def counted(self, source: str, outcome: str) -> float:
        labels = {"source": source, "outcome": outcome}
        return self.registry.get_sample_value("voiceagent_context_requests_total", labels) or 0.0


async def facts(words: str) -> Sequence[str]:
    return (POOL, LIFT)


async def broken(words: str) -> str:
    raise RuntimeError("no index")


async def silent(words: str) -> str:
    await asyncio.Event().wait()
    return ""


async def test_what_is_near_the_words_joins_them_and_the_rest_is_left_out() -> None:
    world = World(facts=facts)
    (*_, newest) = await world.whole("when does the pool open")
    assert POOL in newest.content
    assert LIFT not in newest.content
    assert newest.content.endswith("when does the pool open")


async def test_sources_are_asked_while_the_caller_speaks() -> None:
    asked: list[str] = []

    async def listening(words: str) -> Sequence[str]:
        asked.append(words)
        return await facts(words)

    world = World(facts=listening)
    assert world.so_far("when does the pool") == "when does the pool"
    await world.arrived.wait()
    assert POOL in world.so_far("when does the pool")
    assert asked == ["when does the pool"]
    await world.whole("when does the pool open")
    assert asked == ["when does the pool", "when does the pool open"]


async def test_the_same_words_are_not_asked_about_twice() -> None:
    asked: list[str] = []

    async def listening(words: str) -> str:
        asked.append(words)
        return POOL

    world = World(facts=listening)
    assert await world.whole("the pool") == await world.whole("the pool")
    assert asked == ["the pool"]


async def test_a_source_that_hangs_is_cut_off_and_counted_and_the_turn_goes_on() -> None:
    world = World(deadline_s=0.02, facts=facts, silent=silent)
    (*_, newest) = await world.whole("when does the pool open")
    assert newest.content.endswith("when does the pool open")
    await world.sources.find("when does the pool open", {})
    assert world.counted("silent", "late") >= 1


async def test_a_source_that_fails_is_counted_and_the_others_are_heard() -> None:
    world = World(facts=facts, broken=broken)
    (*_, newest) = await world.whole("when does the pool open")
    assert POOL in newest.content
    assert (world.counted("broken", "failed"), world.counted("facts", "found")) == (1, 1)


async def test_a_turn_begins_without_the_context_of_the_one_before() -> None:
    world = World(facts=facts)
    await world.whole("when does the pool open")
    world.history = (SYSTEM, Message("user", "when does the pool open"), Message("assistant", "At seven."))
    assert world.so_far("thank you") == "thank you"


async def test_nothing_before_the_newest_turn_changes() -> None:
    world, layout = World(facts=facts), PromptLayout()
    for words in ("when does the pool open", "is there a lift", "thank you"):
        prompt = await world.whole(words)
        assert layout.check(prompt, ()) is None
        world.history += (Message("user", words), Message("assistant", "I see."))


async def test_a_call_that_ends_leaves_no_question_behind() -> None:
    world = World(silent=silent)
    world.so_far("when does the pool")
    world.turn.close()
    await asyncio.sleep(0)
    assert [
        task for task in asyncio.all_tasks() if task.get_name() == "context" and not task.cancelling()
    ] == []


class Answers:
    """The answering side of one call, with context; text only."""

    def __init__(self) -> None:
        self.llm = ScriptedLlm(["At seven."], usage=Usage(9, 0, 2))
        self.over = asyncio.Event()

    async def make(self, world: World, find_context: Source | None = None) -> LlmWork:
        services = await call_services(Deaf(), self.llm, Deaf())
        services = replace(services, answering=replace(services.answering, context=world.sources))
        stamps = TurnStamps(services.measuring, lambda at_s: at_s)
        return LlmWork(
            "tested", services, self._take, stamps, self._room, call_monitor(), find_context=find_context
        )

    def _take(self, event: ev.Event) -> None:
        if isinstance(event, ev.ResponseGenerated):
            self.over.set()

    async def _room(self) -> None:
        """There always is some."""


async def test_the_llm_reads_what_the_agent_finds_and_answers_with_it() -> None:
    answers, world = Answers(), World()
    llm_work = await answers.make(world, facts)
    llm_work.prefill((SYSTEM, Message("user", "when does the pool")), ())
    while not any(POOL in read.messages[-1].content for read in answers.llm.prefills):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    prompt = (SYSTEM, Message("user", "when does the pool open"))
    llm_work.start(do.StartResponse("answer", Generation(prompt), "text", "turn"))
    await answers.over.wait()
    await llm_work.close()
    (request,) = answers.llm.requests
    assert request.messages[0] == SYSTEM
    assert POOL in request.messages[-1].content
    assert request.messages[-1].content.endswith("when does the pool open")


async def test_a_response_with_a_prompt_of_its_own_has_no_context() -> None:
    answers = Answers()
    llm_work = await answers.make(World(facts=facts))
    prompt = (Message("user", "when does the pool open"),)
    llm_work.start(do.StartResponse("answer", Generation(prompt), "text", own_prompt=True))
    await answers.over.wait()
    await llm_work.close()
    assert answers.llm.requests[0].messages == prompt
