from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import pytest
from prometheus_client import CollectorRegistry
from scripted_llm import HANG, ScriptedLlm
from structlog.testing import capture_logs

from llmcore.engine import FREE_DRAFT, Delta, DraftUse, Message, Request, Tool, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.policies.speculation import SpeculationLimits
from llmcore.serving.priority_engine import PriorityLlm
from voiceagent.conversation.commands import StartResponse
from voiceagent.engines.config import EngineConfig
from voiceagent.llm.config import LlmEngineConfig, LlmTables
from voiceagent.llm.monitor import LlmMonitor, PromptMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics

ASK = Request((Message("user", "hello?"),))
LABELS = {"engine": "scripted", "model": "m"}


async def asked(times: int, usage: Usage) -> tuple[LlmMonitor, CollectorRegistry]:
    registry = CollectorRegistry()
    monitor = LlmMonitor(LlmMetrics(registry))
    table = EngineConfig.model_validate({"engine": "scripted", "model": "m"})
    llm = monitor.wrap_metered("llm", table, ScriptedLlm(["a", "b", "c"], usage=usage))
    for _ in range(times):
        async with aclosing(llm.generate(ASK)) as deltas:
            async for _ in deltas:
                pass
    return monitor, registry


def parted(*prompts: Request) -> tuple[list[str], float | None]:
    """Return the warnings for these consecutive prompts, and the number of histories."""
    registry = CollectorRegistry()
    monitor = PromptMonitor("call", LlmMetrics(registry))
    with capture_logs() as lines:
        for number, request in enumerate(prompts):
            monitor.check(StartResponse(f"resp_{number}", request, "audio"))
    counted = registry.get_sample_value("voiceagent_llm_prompt_partings_total", {"part": "history"})
    return [str(line) for line in lines], counted


def test_other_instructions_and_tools_are_no_fault_and_warn_of_nothing():
    first = Request((Message("system", "Ordered: []"), Message("user", "a tuna")))
    second = replace(first, messages=(Message("system", "Ordered: ['tuna']"), *first.messages[1:]))
    assert parted(first, second, replace(second, tools=(Tool("open_door", ""),))) == ([], None)


def test_a_history_that_was_rewritten_is_warned_of_without_callers_words():
    first = Request((Message("user", "my pin is 1234"), Message("assistant", "yes"), Message("user", "so")))
    rewritten = replace(first, messages=(Message("user", "my pin was 1234"), *first.messages[1:]))
    (line,), counted = parted(first, rewritten)
    assert "prompt_prefix_changed" in line and "0 (user)" in line and "1234" not in line
    assert counted == 1


def test_a_history_that_its_client_has_changed_is_counted_apart_and_warns_of_nothing():
    registry = CollectorRegistry()
    monitor = PromptMonitor("call", LlmMetrics(registry))
    said = tuple(Message("user" if n % 2 == 0 else "assistant", f"words {n}") for n in range(5))
    with capture_logs() as lines:
        monitor.check(StartResponse("resp_1", Request(said), "audio"))
        monitor.check(StartResponse("resp_2", Request(said[2:]), "audio", edits=2))
    assert lines == []
    counted = partial(registry.get_sample_value, "voiceagent_llm_prompt_partings_total")
    assert [counted({"part": part}) for part in ("edited", "history")] == [1, None]
    with capture_logs() as lines:  # what comes later is no longer what that client meant
        monitor.check(StartResponse("resp_3", Request(said), "audio", edits=2))
    assert [line["event"] for line in lines] == ["prompt_prefix_changed"]


async def test_a_request_is_counted_under_its_engine_and_model():
    _, registry = await asked(2, Usage(100, 64, 3, queue_s=0.5))
    value = registry.get_sample_value
    assert value("voiceagent_llm_ttft_seconds_count", LABELS) == 2
    assert value("voiceagent_llm_itl_seconds_count", LABELS) == 4
    assert value("voiceagent_llm_tpot_seconds_count", LABELS) == 2
    assert value("voiceagent_llm_queue_seconds_sum", LABELS) == 1.0
    assert value("voiceagent_llm_cached_tokens_total", LABELS) == 128
    assert value("voiceagent_llm_output_tokens_total", LABELS) == 6
    assert value("voiceagent_llm_requests_total", LABELS | {"ending": "finished"}) == 2


async def test_what_a_prefill_wrote_is_counted_and_no_more_of_it():
    registry = CollectorRegistry()
    table = EngineConfig.model_validate({"engine": "scripted", "model": "m"})
    engine = ScriptedLlm(["one"], usage=Usage(100, 0, 0, written_tokens=90))
    llm = LlmMonitor(LlmMetrics(registry)).wrap_metered("llm", table, engine)
    await llm.prefill(ASK)
    value = registry.get_sample_value
    assert value("voiceagent_llm_cache_written_tokens_total", LABELS) == 90
    assert not value("voiceagent_llm_prompt_tokens_total", LABELS)


async def test_alarms_are_reported_by_the_table_of_their_engine():
    monitor, _ = await asked(20, Usage(100, 0, 3))
    assert "prefix_hit_rate" in [alarm.name for alarm in monitor.alarms()["llm"]]


async def test_an_alarm_is_logged_once_when_it_begins():
    monitor, _ = await asked(20, Usage(100, 0, 3))
    with capture_logs() as lines:
        for _ in range(2):
            running = asyncio.create_task(monitor.run(lambda: 2))
            await asyncio.sleep(0)
            running.cancel()
    assert [line["event"] for line in lines if line.get("alarm") == "prefix_hit_rate"] == ["llm_alarm"]


async def test_load_is_shed_level_by_level_until_calls_are_refused():
    registry, now_s = CollectorRegistry(), [0.0]
    monitor = LlmMonitor(LlmMetrics(registry), clock=lambda: now_s[0])
    gate = PriorityLlm(
        ScriptedLlm([HANG]), PriorityQueue(QueueLimits(2, 1500, 1)), AdmissionControl(2, 0.8, max_ttft_s=9.0)
    )
    monitor.register_queue(gate, budget_s=0.01)
    asked = [asyncio.ensure_future(anext(gate.generate(ASK))) for _ in range(8)]
    with capture_logs() as lines:
        for second in range(6):
            await asyncio.sleep(0)
            assert monitor.refusal(calls=1) is None
            now_s[0] = float(second)
            running = asyncio.create_task(monitor.run(lambda: 2))
            await asyncio.sleep(0)
            running.cancel()
    for request in asked:
        request.cancel()
    refusal = monitor.refusal(calls=1)
    assert refusal is not None
    assert refusal.reason == "busy: current calls are answered late"
    levels = [line["level"] for line in lines if line["event"] == "load_shedding"]
    assert levels == ["short_fragments", "no_preemptive", "small_model", "filler_at_once", "refuse_calls"]
    assert registry.get_sample_value("voiceagent_shedding_level") == 5
    assert registry.get_sample_value("voiceagent_shedding_changes_total", {"direction": "up"}) == 5
    assert registry.get_sample_value("voiceagent_llm_refused_calls_total") == 1


class SlowWriter(ScriptedLlm):
    """LLM that writes two tokens; the second comes `token_s` later on the given clock."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock_s = clock
        self.token_s = 0.0

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta("one")
        self._clock_s[0] += self.token_s
        yield Delta("two")
        yield Delta(finish_reason="stop", usage=self.usage)


@pytest.mark.parametrize(("token_s", "sheds"), [(0.04, False), (0.2, True)])
async def test_load_is_shed_where_tokens_follow_each_other_too_slowly(token_s: float, sheds: bool) -> None:
    """All first tokens are in time."""
    now_s = [0.0]
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()), clock=lambda: now_s[0])
    writer = SlowWriter(now_s)
    table = EngineConfig.model_validate({"engine": "scripted", "model": "m"})
    metered = monitor.wrap_metered("llm", table, writer)
    queue = PriorityQueue(QueueLimits(2, 1500, 1))
    monitor.register_queue(PriorityLlm(metered, queue, AdmissionControl(2, 0.8, 9.0)), budget_s=9.0)
    for writer.token_s in (0.02, *[token_s] * 10):
        assert [delta async for delta in metered.generate(ASK)]
        running = asyncio.create_task(monitor.run(lambda: 2))
        await asyncio.sleep(0)
        running.cancel()
        now_s[0] += 0.2
    assert (monitor.shedder.level > 0) == sheds


async def test_an_idle_slow_engine_sheds_no_load():
    now_s = [0.0]
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()), clock=lambda: now_s[0])
    monitor.register_queue(
        PriorityLlm(ScriptedLlm(), PriorityQueue(QueueLimits(2, 1500, 1)), AdmissionControl(2, 0.8, 9.0)),
        1e-9,
    )
    for second in range(5):
        now_s[0] = float(second)
        running = asyncio.create_task(monitor.run(lambda: 2))
        await asyncio.sleep(0)
        running.cancel()
    assert monitor.shedder.level == 0


class Drafting(ScriptedLlm):
    """An engine with a draft that was right so often."""

    has_draft = True

    def __init__(self, accepted: int) -> None:
        super().__init__()
        self._load = EngineLoad(drafts=50, drafted=100, accepted=accepted, accepted_at=(accepted, 0))

    def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        return super().generate(request)

    def load(self) -> EngineLoad:
        return self._load


async def drafted(accepted: int) -> tuple[LlmMonitor, CollectorRegistry]:
    """A monitor that has seen one response of such an engine."""
    registry = CollectorRegistry()
    monitor = LlmMonitor(LlmMetrics(registry))
    table = EngineConfig.model_validate({"engine": "scripted", "model": "m"})
    limits = SpeculationLimits(0.5, window=40, max_streams=4, min_tokens=1, retry=Backoff(60.0, 60.0))
    async with aclosing(
        monitor.wrap_speculating("llm", table, Drafting(accepted), limits).generate(ASK)
    ) as deltas:
        async for _ in deltas:
            pass
    return monitor, registry


async def test_the_use_of_a_draft_is_told_to_prometheus():
    monitor, registry = await drafted(accepted=50)
    told = {"state": "on", "why_off": None, "acceptance": 0.5, "accepted_at": [1.0, 0.0]}
    assert monitor.speculation() == {"llm": told}
    assert monitor.alarms() == {}
    value = registry.get_sample_value
    assert value("voiceagent_llm_speculation_on", LABELS) == 1
    assert value("voiceagent_llm_speculation_acceptance", LABELS) == 0.5
    assert value("voiceagent_llm_speculation_decisions_total", LABELS | {"reason": "pays"}) == 1


async def test_a_draft_that_is_left_out_is_an_alarm():
    monitor, registry = await drafted(accepted=10)
    assert [alarm.name for alarm in monitor.alarms()["llm"]] == ["speculation_off"]
    assert registry.get_sample_value("voiceagent_llm_speculation_on", LABELS) == 0
    decisions = LABELS | {"reason": "acceptance"}
    assert registry.get_sample_value("voiceagent_llm_speculation_decisions_total", decisions) == 1


async def test_the_end_of_a_message_is_told_through_all_that_stands_around_an_engine(tmp_path):
    tables = LlmTables(
        llm=LlmEngineConfig.model_validate({"engine": "ending_llm:EndingLlm", "knows": 3.0}),
        fallback=LlmEngineConfig.model_validate({"engine": "ending_llm:EndingLlm"}),
    )
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    source = tmp_path / "own.toml"
    llm = build_llm(tables, source, monitor, ttft_budget_s=0.1, max_prompt_characters=1000)
    asks = [await llm.prefill(replace(ASK, asks_end=asks)) for asks in (True, False)]
    assert [usage is not None and usage.end_log_probability is not None for usage in asks] == [True, False]
