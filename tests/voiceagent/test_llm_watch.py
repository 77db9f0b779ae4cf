from __future__ import annotations

import asyncio
from contextlib import aclosing

from prometheus_client import CollectorRegistry
from scripted_llm import ScriptedLlm
from structlog.testing import capture_logs

from llmcore.engine import Message, Request, Usage
from voiceagent.config import EngineConfig
from voiceagent.llm_metrics import LlmMetrics
from voiceagent.llm_watch import LlmWatch

ASK = Request((Message("user", "hello?"),))
LABELS = {"engine": "scripted", "model": "m"}


async def asked(times: int, usage: Usage) -> tuple[LlmWatch, CollectorRegistry]:
    registry = CollectorRegistry()
    watch = LlmWatch(LlmMetrics(registry))
    table = EngineConfig.model_validate({"engine": "scripted", "model": "m"})
    llm = watch.metered("llm", table, ScriptedLlm(["a", "b", "c"], usage=usage))
    for _ in range(times):
        async with aclosing(llm.generate(ASK)) as deltas:
            async for _ in deltas:
                pass
    return watch, registry


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


async def test_alarms_are_told_by_the_table_of_their_engine():
    watch, _ = await asked(20, Usage(100, 0, 3))
    assert "prefix_hit_rate" in [alarm.name for alarm in watch.alarms()["llm"]]


async def test_an_alarm_is_logged_once_when_it_begins():
    watch, _ = await asked(20, Usage(100, 0, 3))
    with capture_logs() as lines:
        for _ in range(2):
            running = asyncio.create_task(watch.run())
            await asyncio.sleep(0)
            running.cancel()
    assert [line["event"] for line in lines if line.get("alarm") == "prefix_hit_rate"] == ["llm_alarm"]
