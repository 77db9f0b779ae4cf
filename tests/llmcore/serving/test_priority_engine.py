from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import LimitError, LlmError, Message, PriorityClass, Request, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.serving.priority_engine import PriorityLlm


def gated(engine: ScriptedLlm, slots: int = 1, clock: Callable[[], float] = time.monotonic) -> PriorityLlm:
    queue, admission = PriorityQueue(QueueLimits(slots, 1500, 1)), AdmissionControl(slots, 0.8, 1.0)
    return PriorityLlm(engine, queue, admission, clock)


def ask(text: str, priority_class: PriorityClass = "turn") -> Request:
    return Request((Message("user", text),), priority_class=priority_class)


async def read(llm: PriorityLlm, request: Request) -> str:
    return "".join([delta.text async for delta in llm.generate(request)])


async def last_usage(llm: PriorityLlm, request: Request) -> Usage:
    usages = [delta.usage async for delta in llm.generate(request) if delta.usage is not None]
    return usages[-1]


async def begun(llm: PriorityLlm, *requests: Request) -> list[asyncio.Task[str]]:
    """Tasks that read replies, each begun and waiting."""
    tasks = [asyncio.create_task(read(llm, request)) for request in requests]
    await asyncio.sleep(0)
    return tasks


async def test_who_waits_reaches_the_engine_by_urgency():
    engine = ScriptedLlm([HANG], ["ok"])
    llm = gated(engine)
    (first,) = await begun(llm, ask("first"))
    others = await begun(llm, ask("prefill", "prefill"), ask("preemptive", "preemptive"), ask("turn"))
    assert [request.messages[0].content for request in engine.requests] == ["first"]
    first.cancel()
    await asyncio.gather(*others)
    assert [request.messages[0].content for request in engine.requests] == [
        "first", "turn", "preemptive", "prefill",
    ]  # fmt: skip


async def test_the_engine_is_given_the_urgency_for_its_own_queue():
    engine = ScriptedLlm(["ok"])
    llm = gated(engine)
    for priority_class in ("turn", "preemptive", "prefill"):
        await read(llm, ask("hello", priority_class))
    priorities = [request.priority for request in engine.requests]
    assert priorities == sorted(set(priorities))


async def test_the_usage_tells_how_long_a_request_waited_to_be_let_in():
    now_s = 100.0
    llm = gated(ScriptedLlm([HANG], ["ok"]), clock=lambda: now_s)
    (first,) = await begun(llm, ask("first"))
    waiting = asyncio.create_task(last_usage(llm, ask("second")))
    await asyncio.sleep(0)
    now_s = 100.25
    first.cancel()
    assert (await waiting).gate_s == 0.25


async def test_the_engine_learns_which_prompts_are_long():
    engine = ScriptedLlm(["ok"])
    llm = gated(engine)
    for text in ("hello", "word " * 4000):
        await read(llm, ask(text))
    assert [request.priority_class for request in engine.requests] == ["turn", "long"]
    assert engine.requests[0].reading_s < 0.1 < engine.requests[1].reading_s


async def test_one_who_gives_up_while_waiting_never_reaches_the_engine():
    engine = ScriptedLlm([HANG], ["ok"])
    llm = gated(engine)
    first, second = await begun(llm, ask("first"), ask("second"))
    second.cancel()
    await asyncio.wait([second])
    first.cancel()
    await asyncio.wait([first])
    assert len(engine.requests) == 1
    assert await read(llm, ask("third")) == "ok"


async def test_a_reply_that_fails_gives_its_place_back():
    llm = gated(ScriptedLlm([LlmError("broken")], ["ok"]))
    with pytest.raises(LlmError):
        await read(llm, ask("first"))
    assert await read(llm, ask("second")) == "ok"


async def test_prefill_while_speaking_waits_for_its_turn():
    engine = ScriptedLlm([HANG], ["ok"])
    llm = gated(engine)
    (first,) = await begun(llm, ask("first"))
    reading = asyncio.create_task(llm.prefill(ask("unfinished", "prefill")))
    await asyncio.sleep(0)
    assert engine.prefills == []
    first.cancel()
    assert await reading is not None


async def test_a_busy_engine_takes_no_more_calls():
    times = iter([0.0, 1e9])
    llm = gated(ScriptedLlm(), slots=2, clock=lambda: next(times))
    assert llm.refusal(calls=4) is None
    llm.sample(EngineLoad(running=2), 2)
    llm.sample(EngineLoad(running=2), 2)
    refusal = llm.refusal(calls=4)
    assert refusal is not None
    assert refusal.reason.startswith("busy")


async def test_a_prompt_that_is_too_long_never_comes_to_the_engine():
    engine = ScriptedLlm(["ok"])
    queue = PriorityQueue(QueueLimits(1, 1500, 1))
    llm = PriorityLlm(engine, queue, AdmissionControl(1, 0.8, 1.0), max_prompt_characters=10)

    with pytest.raises(LimitError, match=r"has 11 characters; allowed: at most 10 \(limits\.max_prompt"):
        await read(llm, ask("a" * 11))
    with pytest.raises(LimitError):
        await llm.prefill(ask("a" * 11, "prefill"))
    assert engine.requests == []
    assert await read(llm, ask("a" * 10)) == "ok"


class Queued:
    """An engine's own queue. hurried: who, and whether as urgently as a turn."""

    def __init__(self) -> None:
        self.hurried: list[tuple[str, bool]] = []

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        self.hurried.append((caller, priority < 10**12))


def of_caller(caller: str) -> Request:
    return Request((Message("user", caller),), priority_class="preemptive", caller=caller)


async def test_a_request_that_is_hurried_goes_before_those_that_came_earlier():
    engine = ScriptedLlm([HANG], ["ok"])
    llm = gated(engine)
    (first,) = await begun(llm, ask("first"))
    others = await begun(llm, of_caller("one"), of_caller("other"))
    llm.raise_priority("other", time.monotonic() + 1.0)
    first.cancel()
    await asyncio.gather(*others)
    assert [request.messages[0].content for request in engine.requests] == ["first", "other", "one"]
    assert [request.priority_class for request in engine.requests] == ["turn", "turn", "preemptive"]


async def test_engines_with_a_queue_of_their_own_are_told_who_is_hurried():
    queued = Queued()
    queue, admission = PriorityQueue(QueueLimits(1, 1500, 1)), AdmissionControl(1, 0.8, 1.0)
    llm = PriorityLlm(ScriptedLlm([HANG]), queue, admission, engines=[queued])
    (reading,) = await begun(llm, of_caller("one"))
    llm.raise_priority("one", time.monotonic() + 1.0)
    llm.raise_priority("nobody", time.monotonic() + 1.0)
    assert queued.hurried == [("one", True)]
    reading.cancel()
    await asyncio.wait([reading])
