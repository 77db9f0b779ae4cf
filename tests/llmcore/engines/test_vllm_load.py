from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from llmcore.engine import STEP_BUCKETS_S, EngineLoad, Eviction
from llmcore.engines.vllm_load import read_load, with_report


def test_an_engine_that_has_counted_nothing_has_no_load():
    assert read_load("m", CollectorRegistry()) == EngineLoad()


def test_the_load_is_that_of_the_engine_with_this_model():
    registry = CollectorRegistry()
    running = Gauge("vllm:num_requests_running", "", ("model_name", "engine"), registry=registry)
    cache = Gauge("vllm:kv_cache_usage_perc", "", ("model_name", "engine"), registry=registry)
    for model, value in (("small", 1), ("large", 3)):
        running.labels(model, "0").set(value)
        cache.labels(model, "0").set(value / 10)
    load = read_load("large", registry)
    assert (load.running, load.cache_usage, load.drafted) == (3, 0.3, None)


def test_accepted_tokens_are_reported_by_their_position():
    registry = CollectorRegistry()
    labels = ("model_name", "engine", "position")
    accepted = Counter("vllm:spec_decode_num_accepted_tokens_per_pos", "", labels, registry=registry)
    for position, tokens in (("2", 10), ("0", 40), ("1", 20)):
        accepted.labels("m", "0", position).inc(tokens)
    assert read_load("m", registry).accepted_at == (40, 20, 10)


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
