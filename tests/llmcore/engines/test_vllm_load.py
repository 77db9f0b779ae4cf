from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from llmcore.engine_load import STEP_BUCKETS_S, EngineLoad, Eviction
from llmcore.engines.vllm_engine import read_load, with_report
from llmcore.engines.vllm_internals import engine as vllm_internals


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
    metrics = vllm_internals.RunningMetrics()
    # each makes its own anew: vLLM takes those out before that are still in the registry
    first = Gauge("vllm:num_requests_running", "", registry=registry)
    of_first = metrics.add()
    second = Gauge("vllm:num_requests_running", "", registry=registry)
    of_second = metrics.add()
    first.set(3)
    second.set(4)
    assert (read_load(of_first).running, read_load(of_second).running) == (3, 4)


def test_the_page_of_metrics_has_all_engines_of_a_process_by_their_number(monkeypatch: pytest.MonkeyPatch):
    registry, metrics = CollectorRegistry(), vllm_internals.RunningMetrics()
    monkeypatch.setattr(vllm_internals, "REGISTRY", registry)
    started = []
    for running in (3, 4):
        Gauge("vllm:num_requests_running", "Running.", ("engine",), registry=registry).labels("0").set(
            running
        )
        started.append(metrics.add())

    def shown() -> list[str]:
        lines = generate_latest(registry).decode().splitlines()
        return [line for line in lines if line.startswith("vllm")]

    name = 'vllm:num_requests_running{engine="0",engine_number='
    assert shown() == [f'{name}"1"}} 3.0', f'{name}"2"}} 4.0']
    assert generate_latest(registry).count(b"# TYPE vllm:num_requests_running gauge") == 1
    metrics.remove(started[0])
    assert shown() == [f'{name}"2"}} 4.0']


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
