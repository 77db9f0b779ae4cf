from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge

from llmcore.engine import STEP_BUCKETS_S, EngineLoad, Eviction
from llmcore.engines.vllm_internals import engine as vllm_internals
from llmcore.engines.vllm_load import read_load, with_report


def test_an_engine_that_has_counted_nothing_has_no_load():
    assert read_load(CollectorRegistry()) == EngineLoad()


def test_the_load_is_what_the_metrics_say():
    registry = CollectorRegistry()
    Gauge("vllm:num_requests_running", "", registry=registry).set(3)
    Gauge("vllm:kv_cache_usage_perc", "", registry=registry).set(0.3)
    load = read_load(registry)
    assert (load.running, load.cache_usage, load.drafted) == (3, 0.3, None)


def test_the_load_of_an_engine_is_its_own_when_vllm_starts_another(monkeypatch: pytest.MonkeyPatch):
    # of its own, as a vLLM that other tests have started is in the process's registry
    registry = CollectorRegistry()
    monkeypatch.setattr(vllm_internals, "REGISTRY", registry)
    first = Gauge("vllm:num_requests_running", "", registry=registry)
    of_first = vllm_internals.own_metrics()
    registry.unregister(first)  # as vLLM does before it makes the next engine's
    second = Gauge("vllm:num_requests_running", "", registry=registry)
    of_second = vllm_internals.own_metrics()
    first.set(1)
    second.set(2)
    assert (read_load(of_first).running, read_load(of_second).running) == (1, 2)


def test_accepted_tokens_are_reported_by_their_position():
    registry = CollectorRegistry()
    labels = ("model_name", "engine", "position")
    accepted = Counter("vllm:spec_decode_num_accepted_tokens_per_pos", "", labels, registry=registry)
    for position, tokens in (("2", 10), ("0", 40), ("1", 20)):
        accepted.labels("m", "0", position).inc(tokens)
    assert read_load(registry).accepted_at == (40, 20, 10)


def test_the_report_of_our_scheduler_joins_what_vllm_counts():
    histogram = [0] * (len(STEP_BUCKETS_S) + 1) + [0.0]
    report = {
        "step_s": histogram,
        "tokens": histogram,
        "sequences": histogram,
        "max_tokens": 256,
        "max_sequences": 8,
        "evicted": [["turn", "prefill", "other", 12]],
    }
    load = with_report(EngineLoad(running=2), report)
    assert load.running == 2
    assert load.steps is not None
    assert (load.steps.max_tokens, load.steps.max_sequences) == (256, 8)
    assert load.evictions == (Eviction("turn", "prefill", "other", 12),)


def test_an_engine_with_a_scheduler_of_vllms_own_reports_no_steps():
    assert with_report(EngineLoad(running=2), {}) == EngineLoad(running=2)
