from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import Delta, LlmError, Message, Request, Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Summarise
from voiceagent.conversation.config import HistoryConfig
from voiceagent.session import references
from voiceagent.session.summarising import Summarising
from voiceagent.telemetry.llm_metrics import LlmMetrics

STATIC = Message("system", "You keep the desk.")
SAID = (
    Message("user", "Hello, my name is Anna Lund, I should like a room for two nights, please."),
    Message("assistant", "With pleasure. What kind of room shall it be, and for how many people is it?"),
    Message("user", "Something quiet, on a high floor if there is one, and not too far from the lift."),
    Message("assistant", "Very well, I have noted that down for you."),
)
WANTED = Summarise((STATIC, *SAID), (), SAID, "", 80)
GOOD = "Anna Lund wants a quiet room for two nights."
EXTRACTED = (
    "Caller: Hello, my name is Anna Lund, I should like a room for two nights, please. "
    "Something quiet, on a high floor if there is one, and not too far from the lift."
)


class Desk:
    """A call that wants summaries, and keeps what it gets."""

    def __init__(self, llm: ScriptedLlm, **config: object) -> None:
        registry = CollectorRegistry()
        self.value = registry.get_sample_value
        self.llm = llm
        self.got: asyncio.Queue[ev.Event] = asyncio.Queue()
        settings = HistoryConfig().model_copy(update=config)
        metrics = LlmMetrics(registry)
        self.summarising = Summarising("call_1", llm, settings, "en", metrics, self.got.put_nowait)

    async def text(self) -> str:
        """Return the resulting summary."""
        self.summarising.summarise(WANTED)
        async with asyncio.timeout(20):
            event = await self.got.get()
        assert isinstance(event, ev.HistorySummarised)
        return event.text

    def count(self, result: str) -> float:
        return self.value("voiceagent_llm_summaries_total", {"result": result}) or 0


async def turn_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_summary_is_asked_for_in_the_lowest_priority_class():
    desk = Desk(ScriptedLlm([GOOD]), summary_tokens=100)
    assert await desk.text() == GOOD
    (request,) = desk.llm.requests
    assert request.messages[:-1] == WANTED.prompt
    assert (request.priority_class, request.max_tokens, request.tool_choice) == ("summary", 100, "none")
    assert desk.count("model") == 1


async def test_what_was_replaced_is_counted_before_and_after():
    desk = Desk(ScriptedLlm([GOOD]))
    await desk.text()
    before = desk.value("voiceagent_llm_compressed_tokens_total", {"side": "before"})
    after = desk.value("voiceagent_llm_compressed_tokens_total", {"side": "after"})
    assert before == 80 and 0 < after < 40


async def test_what_the_model_lost_is_reported_word_for_word():
    desk = Desk(ScriptedLlm(["The caller wants a quiet room."]))
    assert await desk.text() == "The caller wants a quiet room. Said so far: Anna Lund; for two nights."


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (["Anna Lund wants three nights."], "invented"),
        (["  "], "empty"),
        (["It went on. " * 30], "too_long"),
        (["I'm sorry, but I can't assist with that."], "off_topic"),
        ([GOOD, Delta(finish_reason="length", usage=Usage())], "too_long"),
        ([LlmError("it broke")], "failed"),
    ],
)
async def test_a_summary_that_cannot_be_used_is_dropped_and_made_anew(script: list[object], reason: str):
    desk = Desk(ScriptedLlm(script, [GOOD]))
    assert await desk.text() == GOOD
    assert desk.count(reason) == 1


async def test_after_so_many_attempts_the_sentences_with_facts_are_taken():
    desk = Desk(ScriptedLlm(["Bob wants nine rooms."]), attempts=2)
    assert await desk.text() == EXTRACTED
    assert (len(desk.llm.requests), desk.count("invented"), desk.count("extract")) == (2, 2, 1)


async def test_the_next_time_the_model_is_asked_again():
    desk = Desk(ScriptedLlm(["Bob wants nine rooms."], [GOOD]), attempts=1)
    assert await desk.text() == EXTRACTED
    assert await desk.text() == GOOD


async def test_where_the_model_cannot_summarise_it_is_not_asked():
    desk = Desk(ScriptedLlm(), summaries="extract")
    assert await desk.text() == EXTRACTED
    assert desk.llm.requests == []


async def test_a_response_stops_the_summary():
    desk = Desk(ScriptedLlm([HANG]))
    desk.summarising.summarise(WANTED)
    await turn_of_the_loop()
    assert desk.llm.running == 1
    desk.summarising.stop()
    await turn_of_the_loop()
    assert desk.llm.running == 0
    assert desk.got.empty()
    assert desk.count("stopped") == 1


async def test_a_call_that_never_leaves_the_time_gets_the_sentences():
    desk = Desk(ScriptedLlm([HANG]), attempts=2)
    for _ in range(2):
        desk.summarising.summarise(WANTED)
        await asyncio.sleep(0)
        desk.summarising.stop()
    assert await desk.text() == EXTRACTED


async def test_the_end_of_the_call_ends_the_summary():
    desk = Desk(ScriptedLlm([HANG]))
    desk.summarising.summarise(WANTED)
    await turn_of_the_loop()
    assert desk.llm.running == 1
    await desk.summarising.close()
    assert desk.llm.running == 0
    assert desk.got.empty()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "summarise"]


class DeafLlm(ScriptedLlm):
    """Does not stop when cancelled, before it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.running += 1
        while self.running:
            with suppress(asyncio.CancelledError):
                await self.released.wait()
                self.running = 0
        yield Delta()


async def test_a_summary_that_does_not_stop_does_not_hold_the_end_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(references, "CLOSE_S", 0.01)
    desk = Desk(llm := DeafLlm())
    desk.summarising.summarise(WANTED)
    await turn_of_the_loop()
    assert llm.running == 1
    async with asyncio.timeout(20):
        await desk.summarising.close()
    assert llm.running == 1
    llm.released.set()
    await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "summarise"])
