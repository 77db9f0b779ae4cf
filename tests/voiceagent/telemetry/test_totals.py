from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.telemetry.totals import Page, Totals, summed


def page(turns: int, calls: int, waits: tuple[float, ...] = ()) -> Page:
    """Return a worker's report, as it comes over the socket."""
    registry = CollectorRegistry()
    Counter("turns", "Turns.", ("outcome",), registry=registry).labels("completed").inc(turns)
    Gauge("calls", "Calls.", registry=registry).set(calls)
    wait = Histogram("wait", "Waits.", registry=registry, buckets=(1, 2))
    for seconds in waits:
        wait.observe(seconds)
    collected: Page = pickle.loads(pickle.dumps(list(registry.collect())))
    return collected


def values(pages: Page) -> dict[str, float]:
    return {
        sample.name + sample.labels.get("le", ""): sample.value
        for family in pages
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_counters_and_gauges_are_the_sums_of_all_workers(workers):
    total = values(summed(page(turns, calls) for turns, calls in workers))
    assert total["turns_total"] == sum(turns for turns, _ in workers)
    assert total["calls"] == sum(calls for _, calls in workers)


def test_histograms_are_summed_bucket_by_bucket():
    total = values(summed([page(0, 0, (0.5, 1.5)), page(0, 0, (0.5,))]))
    assert (total["wait_bucket1.0"], total["wait_bucket2.0"], total["wait_count"]) == (2, 3, 3)


def test_counts_of_a_dead_worker_stay_its_calls_do_not():
    totals = Totals()
    totals.update({0: page(3, 2), 1: page(4, 1)})
    totals.remove(0)
    totals.update({0: page(1, 1)})
    total = values(list(totals.registry([]).collect()))
    assert (total["turns_total"], total["calls"]) == (8, 2)


def test_a_worker_that_does_not_answer_keeps_its_last_numbers():
    totals = Totals()
    totals.update({0: page(3, 2), 1: page(4, 1)})
    totals.update({1: page(5, 1)})
    assert values(list(totals.registry([]).collect()))["turns_total"] == 8


def test_the_sum_is_a_page_that_prometheus_reads():
    totals = Totals()
    totals.update({0: list(Metrics().registry.collect())})
    text = render(totals.registry(list(Metrics().registry.collect()))).decode()
    assert "voiceagent_calls" in {family.name for family in text_string_to_metric_families(text)}


def test_the_loop_that_is_latest_stands_for_the_server():
    registries = [CollectorRegistry() for _ in range(2)]
    for registry, lag_s in zip(registries, (0.06, 0.02), strict=True):
        Gauge("voiceagent_loop_lag_seconds", "Lag.", registry=registry).set(lag_s)
    total = values(summed(list(registry.collect()) for registry in registries))
    assert total["voiceagent_loop_lag_seconds"] == 0.06
