"""Spans and metrics go to a collector; one that hangs or is gone costs only what it would have got."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from otlp_receiver import otlp_receiver
from prometheus_client import CollectorRegistry, Counter
from structlog.testing import capture_logs

from voiceagent.telemetry.otlp import exporter as module
from voiceagent.telemetry.otlp.config import OtlpConfig
from voiceagent.telemetry.otlp.exporter import MAX_WAITING, Exporter
from voiceagent.telemetry.otlp.trace.spans import CallSpans, Span, parse

CALLERS = parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def some_spans() -> list[Span]:
    """A turn and its call, in the trace of a caller."""
    assert CALLERS is not None
    spans = CallSpans("call_1", CALLERS, offset_ns=10**18)
    told = {"gen_ai.operation.name": "chat", "voiceagent.turn.over_budget": ("total",)}
    spans.add("turn", "turn a", "call", 2_000_000, 3_000_000, told, "llm")
    spans.add_call(1_000_000, 4_000_000, {})
    return spans.drain()


@contextmanager
def exporting(endpoint: str) -> Iterator[tuple[Exporter, CollectorRegistry]]:
    registry = CollectorRegistry()
    exporter = Exporter(OtlpConfig(endpoint=endpoint), registry)
    exporter.start()
    try:
        yield exporter, registry
    finally:
        exporter.close()


def until(condition: Callable[[], object]) -> None:
    """Wait for the thread; the time-out only ends a test that hangs."""
    until_s = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def count(registry: CollectorRegistry, name: str) -> float:
    return registry.get_sample_value(f"voiceagent_spans_{name}_total") or 0.0


def test_a_collector_gets_spans_as_they_are():
    with otlp_receiver() as (endpoint, received), exporting(endpoint) as (exporter, registry):
        exporter.send(some_spans())
        (turn,), (call,) = received.until("turn"), received.until("call")
        assert turn.trace_id == call.trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"
        assert (call.parent_id, turn.parent_id) == ("00f067aa0ba902b7", call.span_id)
        assert (turn.start_ns, turn.end_ns) == (10**18 + 2 * 10**9, 10**18 + 3 * 10**9)
        assert (turn.ok, call.ok) == (False, True)
        assert turn.attributes == {
            "gen_ai.conversation.id": "call_1",
            "gen_ai.operation.name": "chat",
            "voiceagent.turn.over_budget": ["total"],
            "error.type": "llm",
        }
        assert received.resource["service.name"] == "voiceagent"
        assert received.scope == {"voiceagent.gen_ai.semconv": "0.1.0"}
        until(lambda: count(registry, "sent") == 2)


def test_what_waits_is_sent_in_the_end():
    with otlp_receiver() as (endpoint, received):
        with exporting(endpoint) as (exporter, _):
            exporter.send(some_spans())
        assert len(received.spans) == 2


def test_headers_and_names_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "front desk")
    with otlp_receiver() as (endpoint, received), exporting(endpoint) as (exporter, _):
        exporter.send(some_spans())
        received.until("call")
        assert received.headers[0]["authorization"] == "Bearer key"
        assert received.resource["service.name"] == "front desk"


def test_a_collector_that_hangs_holds_nobody_and_what_it_loses_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "END_S", 0.1)
    hangs = threading.Event()
    with otlp_receiver(hangs) as (endpoint, received), exporting(endpoint) as (exporter, registry):
        exporter.send(some_spans())
        received.until("call")  # it has the first batch, and does not answer
        more = some_spans() * (MAX_WAITING // 2)
        exporter.send(more)
        assert count(registry, "dropped") == 0
        exporter.send(some_spans())
        assert count(registry, "dropped") == 2


def test_a_lost_collector_is_told_once_and_so_is_its_return():
    with otlp_receiver() as (endpoint, _):
        port = int(endpoint.rpartition(":")[2])
    with capture_logs() as lines, exporting(endpoint) as (exporter, registry):
        for lost in (2, 4):
            exporter.send(some_spans())
            until(lambda lost=lost: count(registry, "dropped") == lost)
        with otlp_receiver(port=port) as (_, received):
            exporter.send(some_spans())
            received.until("call")
            until(lambda: count(registry, "sent") == 2)
    assert [line["event"] for line in lines] == ["collector_failed", "collector_recovered"]


def test_the_metrics_are_sent():
    registry = CollectorRegistry()
    Counter("turns", "Turns.", registry=registry).inc(3)
    with otlp_receiver() as (endpoint, received), exporting(endpoint) as (exporter, _):
        exporter.send_metrics(list(registry.collect()))
        assert received.until_metric("turns").sum.data_points[0].as_double == 3
