from __future__ import annotations

from prometheus_client import CollectorRegistry

from llmcore.engine_load import STEP_BUCKETS_S, STEP_SIZES, EngineLoad, Eviction, Steps
from voiceagent.telemetry.llm_metrics import LoadCollector

ENGINE = {"engine": "vllm", "model": "m"}


class Loaded:
    """An engine that reports what the test says."""

    def __init__(self, load: EngineLoad) -> None:
        self._load = load

    def load(self) -> EngineLoad:
        return self._load


def page(load: EngineLoad) -> CollectorRegistry:
    collector, registry = LoadCollector(), CollectorRegistry()
    collector.engines.append(("vllm", "m", Loaded(load)))
    registry.register(collector)
    return registry


def counted(buckets: int, *at: int) -> tuple[float, ...]:
    """A histogram with one value in each of these buckets."""
    return (*(float(at.count(bucket)) for bucket in range(buckets + 1)), 0.5)


def test_steps_are_histograms_of_their_time_tokens_and_replies():
    seconds = counted(len(STEP_BUCKETS_S), 0, 2, len(STEP_BUCKETS_S))
    sizes = counted(len(STEP_SIZES), 3)
    registry = page(EngineLoad(steps=Steps(seconds, sizes, sizes, 256, 8)))
    name = "voiceagent_llm_step_seconds"
    for bound, count in ((STEP_BUCKETS_S[0], 1), (STEP_BUCKETS_S[1], 1), (STEP_BUCKETS_S[2], 2)):
        labels = ENGINE | {"le": str(bound)}
        assert registry.get_sample_value(f"{name}_bucket", labels) == count
    assert registry.get_sample_value(f"{name}_count", ENGINE) == 3
    assert registry.get_sample_value(f"{name}_sum", ENGINE) == 0.5
    assert registry.get_sample_value("voiceagent_llm_step_tokens_count", ENGINE) == 1
    assert registry.get_sample_value("voiceagent_llm_step_max_tokens", ENGINE) == 256
    assert registry.get_sample_value("voiceagent_llm_step_max_sequences", ENGINE) == 8


def test_the_page_says_who_took_whose_blocks():
    registry = page(EngineLoad(evictions=(Eviction("turn", "prefill", "other", 12),)))
    whose = ENGINE | {"of": "turn", "by": "prefill", "whose": "other"}
    assert registry.get_sample_value("voiceagent_llm_evicted_blocks_total", whose) == 12


def test_what_an_engine_does_not_report_is_left_out():
    registry = page(EngineLoad(running=2))
    assert registry.get_sample_value("voiceagent_llm_running", ENGINE) == 2
    for name in ("cache_usage", "preemptions_total", "step_seconds_count", "step_max_tokens"):
        assert registry.get_sample_value(f"voiceagent_llm_{name}", ENGINE) is None
