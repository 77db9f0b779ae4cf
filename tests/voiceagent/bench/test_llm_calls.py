from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import pytest
from bench_material import write_material
from llm_load import overload
from llm_load.calls import LlmCaller, LlmFigures, LlmTimes
from llm_load.distribution import TracedCall, TracedTurn
from llm_load.measure import Load, measure, measure_freeing, measure_trace
from llm_load.overload import Callers, Overload
from llm_load.replay import CHARACTERS_A_TOKEN, Replay
from llm_load.variants import LlmVariant
from prometheus_client import CollectorRegistry
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import Delta, Message, Request
from llmcore.engine_load import EngineLoad
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.serving.priority_engine import PriorityLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.telemetry.llm_metrics import LlmMetrics

DEMO = LlmVariant(
    "as configured", load(Path(__file__).parents[3] / "configs/demo.toml"), prefill_while_speaking=False
)
SYSTEM = Message("system", "You keep a shop.")


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    return Replay(Material(write_material(tmp_path)).conversations())


async def test_a_call_may_have_a_history_that_no_other_shares(replay):
    llm = ScriptedLlm(["Yes."])
    load = Load(calls=2, turns=2, history_tokens=1200)
    await measure(llm, DEMO, load, replay, lambda: None)
    begun = [request.messages[1].content for request in llm.requests]
    assert all(len(said) == round(1200 * CHARACTERS_A_TOKEN) for said in begun)
    assert begun[0][:20] != begun[1][:20]


async def test_the_first_turns_of_calls_are_told_apart():
    figures = LlmFigures()
    caller = LlmCaller(ScriptedLlm(["Yes."]), (SYSTEM,), figures, Random(1), prefills=False, ttft_s=1)
    await caller.call(iter(["And breakfast?", "When?"]), lambda: True)
    assert (len(figures.times.ttft), len(figures.times.first), len(figures.times.later)) == (2, 1, 1)


async def test_a_traced_call_asks_and_is_answered_as_it_was(replay):
    turns = (TracedTurn(0.0, 0.0, "Is it open?", 12), TracedTurn(0.0, 0.0, "When?", 7))
    llm = ScriptedLlm(["Yes."])
    trace = (TracedCall(0.0, turns, history_tokens=300), TracedCall(0.0, turns[:1]))
    figures = await measure_trace(llm, DEMO, trace, replay, 1, lambda: None)
    asked = sorted((request.messages[-1].content, request.max_tokens) for request in llm.requests)
    assert asked == [("Is it open?", 12), ("Is it open?", 12), ("When?", 7)]
    followed = next(request for request in llm.requests if request.max_tokens == 7)
    assert [message.content for message in followed.messages[-3:-1]] == ["Is it open?", "Yes."]
    assert (figures.turns, figures.cancelled) == (3, 0)


async def test_who_interrupts_before_the_first_token_has_waited_as_long(replay):
    trace = (TracedCall(0.0, (TracedTurn(0.0, 0.0, "Open?", 9, cut_after_s=0.01),)),)
    figures = await measure_trace(ScriptedLlm([HANG]), DEMO, trace, replay, 1, lambda: None)
    assert figures.cancelled == 1
    assert len(figures.times.ttft) == 1 and figures.times.ttft[0] >= 10


class QuickLlm(ScriptedLlm):
    """Answers at once, but lets others run, as an engine does."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        await asyncio.sleep(0)
        async for delta in super().generate(request):
            yield delta


async def test_long_prompts_come_beside_the_calls_as_long_as_these_last(replay):
    llm = QuickLlm(["Yes."])
    figures = await measure(llm, DEMO, Load(1, 2, long_calls=1, long_tokens=3000), replay, lambda: None)
    lengths = {len(request.messages[-1].content) for request in llm.requests}
    assert round(3000 * CHARACTERS_A_TOKEN) in lengths
    assert figures.turns == 2 and figures.times.long_prompts


async def test_an_engine_that_does_not_tell_its_cache_is_not_asked(replay):
    llm = ScriptedLlm(["Yes."])
    assert await measure_freeing(llm, lambda: EngineLoad(running=1), replay, seed=1) == []
    assert llm.requests == []


async def test_the_engines_counter_tells_when_a_cancelled_response_is_freed(replay):
    llm = ScriptedLlm(["a", "b", HANG])
    freed = await measure_freeing(llm, lambda: EngineLoad(cache_usage=0.1 * llm.running), replay, seed=1)
    assert freed and all(ms >= 0 for ms in freed)
    assert llm.running == 0


def watch_of(llm: PriorityLlm) -> LlmMonitor:
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    monitor.register_queue(llm, budget_s=1.0)
    return monitor


async def test_who_is_refused_calls_again_and_is_counted(monkeypatch: pytest.MonkeyPatch, replay):
    """One call is always taken, and here no second one."""
    monkeypatch.setattr(overload, "AGAIN_S", 0.01)
    admission = AdmissionControl(max_running=1, max_utilization=1.0, max_ttft_s=1e-9)
    llm = PriorityLlm(ScriptedLlm([HANG]), PriorityQueue(QueueLimits(1, 1500, 1)), admission)
    callers = Callers(llm, watch_of(llm), DEMO, replay, seed=1)
    calling = [asyncio.create_task(callers.keep_calling(LlmFigures())) for _ in range(2)]
    while not callers.refusal_ms:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    assert (callers.calls, callers.admitted) == (1, 1)
    for call in calling:
        call.cancel()
    await asyncio.gather(*calling, return_exceptions=True)
    assert callers.calls == 0


def test_an_overload_is_reported_as_ratios_of_the_admitted_calls():
    alone, full, admitted = (LlmFigures(LlmTimes(ttft=[ms])) for ms in (10.0, 20.0, 22.0))
    overload = Overload(4, alone, full, 4, admitted, 6, 5, [0.1, 0.4])
    told = overload.summary()
    assert told["of that of as many as are taken"] == pytest.approx(1.1)
    assert told["of that of one call"] == pytest.approx(2.2)
    assert (told["calls admitted"], told["of these at once, the most"]) == (6, 5)
    assert (told["calls refused"], told["refused in ms, the slowest"]) == (2, 0.4)
