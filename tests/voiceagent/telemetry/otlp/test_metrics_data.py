"""The metrics as OTLP has them say what the page for Prometheus says."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from voiceagent.telemetry.metrics import Metrics
from voiceagent.telemetry.otlp.exporter import metrics_data


def sent(registry: CollectorRegistry) -> dict[str, object]:
    """By name, as the protocol has them."""
    data = metrics_data(registry.collect(), Resource({}), InstrumentationScope("tests"), now_ns=5)
    (resource,) = encode_metrics(data).resource_metrics
    return {metric.name: metric for metric in resource.scope_metrics[0].metrics}


def test_a_counter_is_a_sum_that_never_falls():
    registry = CollectorRegistry()
    Counter("turns", "Turns.", ("outcome",), registry=registry).labels("done").inc(3)
    turns = sent(registry)["turns"].sum
    assert turns.is_monotonic
    (point,) = turns.data_points
    assert (point.as_double, point.time_unix_nano) == (3, 5)
    assert [(pair.key, pair.value.string_value) for pair in point.attributes] == [("outcome", "done")]
    assert point.start_time_unix_nano > 0


def test_a_gauge_without_value_is_left_out():
    registry = CollectorRegistry()
    Gauge("calls", "Calls.", registry=registry).set(7)
    Gauge("unknown", "Unknown.", registry=registry).set(float("nan"))
    metrics = sent(registry)
    assert [point.as_double for point in metrics["calls"].gauge.data_points] == [7]
    assert not metrics["unknown"].gauge.data_points


def test_a_histogram_has_what_lies_between_two_bounds():
    registry = CollectorRegistry()
    seconds = Histogram("seconds", "Seconds.", ("stage",), buckets=(1, 2), registry=registry)
    for value in (0.5, 1.5, 1.7, 9):
        seconds.labels("all").observe(value)
    (point,) = sent(registry)["seconds"].histogram.data_points
    assert list(point.explicit_bounds) == [1, 2]
    assert list(point.bucket_counts) == [1, 2, 1]
    assert (point.count, point.sum) == (4, 12.7)
    assert not point.HasField("min")


def test_all_metrics_of_a_server_can_be_sent():
    metrics = Metrics()
    assert sent(metrics.registry).keys() == {family.name for family in metrics.registry.collect()}
