"""All subscribers of a call: none raises, each is bounded, and what has no room is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from call_world import CallWorld
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from voiceagent.calls import kept_call
from voiceagent.calls.kept_call import KeptCall, Losses
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev
from voiceagent.conversation.call_events import CallEvent, CallSubscriber
from voiceagent.conversation.latency import TurnCounts, TurnReport
from voiceagent.server import supervisor_client
from voiceagent.server.call_progress import ProgressReporter
from voiceagent.server.supervisor_client import SupervisorClient
from voiceagent.session.publishing import CallPublisher, Subscriptions
from voiceagent.telemetry.metrics import Metrics
from voiceagent.telemetry.otlp import exporter
from voiceagent.telemetry.otlp.config import OtlpConfig
from voiceagent.telemetry.otlp.exporter import Exporter
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing
from voiceagent.webhooks.config import WebhooksConfig
from voiceagent.webhooks.sender import WebhookSender

BOUND, STOPS = 5, 3


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


@dataclass
class Subscribed:
    """A subscriber with a queue that is never read. unbounded: each end of the call is queued in any case."""

    subscriber: CallSubscriber
    queued: Callable[[], int]
    dropped: Callable[[], float]
    bound: int = BOUND
    unbounded: int = 0


class UnreadConnection:
    """A connection to a supervisor that reads nothing; each notification is a byte."""

    unsent_bytes = 0

    def notify(self, message: object) -> None:
        self.unsent_bytes += 1


def recorder() -> Subscribed:
    losses = Losses()
    call = KeptCall(lambda: 1.0, losses)
    return Subscribed(call, lambda: len(call.waiting), lambda: losses.records, BOUND + STOPS, unbounded=1)


def trace() -> Subscribed:
    registry, sent = CollectorRegistry(), [0]
    collector = Exporter(OtlpConfig(endpoint="http://127.0.0.1:9"), registry)

    def send(spans: Any) -> None:
        sent[0] += len(spans)
        collector.send(spans)

    names = EngineNames("stt", "llm", "", "tts", 24_000)
    call = TracedCall("call_1", Tracing(names, 1.0, True, lambda: 1.0, send))

    def dropped() -> float:
        return value(registry, "voiceagent_spans_dropped_total")

    return Subscribed(call, lambda: int(sent[0] - dropped()), dropped)


def supervisor() -> Subscribed:
    connection, metrics = UnreadConnection(), Metrics()
    parent = SimpleNamespace(connection=connection)
    client = SupervisorClient(parent, metrics, None)  # type: ignore[arg-type]  # a part of it is enough
    call = ProgressReporter("call_1", client.report_progress, None)
    name = "voiceagent_supervisor_notifications_dropped_total"
    return Subscribed(
        call, lambda: connection.unsent_bytes, lambda: value(metrics.registry, name), unbounded=1
    )


def webhooks() -> Subscribed:
    registry = CollectorRegistry()
    table = WebhooksConfig(url="http://127.0.0.1:9", secret_env="KEY").model_copy(
        update={"max_waiting": BOUND}
    )
    sender, posted = WebhookSender(table, b"0" * 24, registry), [0]

    def send(event: Any) -> None:
        posted[0] += 1
        WebhookSender.send(sender, event)

    sender.send = send  # type: ignore[method-assign]
    call = sender.call("call_1")

    def dropped() -> float:
        return value(registry, "voiceagent_webhooks_total", outcome="dropped")

    return Subscribed(call, lambda: int(posted[0] - dropped()), dropped)


ALL = {"recorder": recorder, "trace": trace, "supervisor": supervisor, "webhooks": webhooks}


@pytest.fixture(params=ALL)
def subscribe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Subscribed]:
    monkeypatch.setattr(kept_call, "MAX_WAITING", BOUND)
    monkeypatch.setattr(kept_call, "MAX_STOPS", STOPS)
    monkeypatch.setattr(exporter, "MAX_WAITING", BOUND)
    monkeypatch.setattr(supervisor_client, "MAX_UNSENT_BYTES", BOUND - 1)
    return ALL[request.param]


def a_call() -> Iterator[CallEvent]:
    """Yield the events of a call with a greeting, a turn and an answer."""
    world = CallWorld()
    yield call_events.CallIdentified("CA12", {"from": "+15550100"})
    yield call_events.CallBegan("Orders", "gpt", {"from": "+15550100"})
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    world.play_out(response_id)
    for step in world.steps:
        yield call_events.EventHandled(step.event, 1.0, step.ids, step.commands)
    yield call_events.EventHandled(ev.CallerIdle(1.0), 1.0, (), (), ValueError("a fault"))
    yield call_events.AudioStarted(response_id)
    yield call_events.ResponseStopped(response_id, 0.5)
    yield call_events.ResponseDone(
        TurnReport("item_1", "completed", (), (), TurnCounts(), response_id=response_id)
    )
    for item in world.conversation.history.items:
        yield call_events.MessagePlayed(item)  # type: ignore[arg-type]  # all items here are messages
    yield call_events.CallEnded("the caller hung up", world.conversation.history.items)


EVENTS = tuple(a_call())


@given(order=st.lists(st.sampled_from(EVENTS), max_size=60))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_subscriber_neither_raises_nor_exceeds_its_bound(
    subscribe: Callable[[], Subscribed], order: list[CallEvent]
):
    subscribed = subscribe()
    ends = sum(isinstance(event, call_events.CallEnded) for event in order)
    for event in order:
        subscribed.subscriber.on_event(event)
    assert subscribed.queued() <= subscribed.bound + subscribed.unbounded * ends


def test_subscriber_counts_each_event_it_drops(subscribe: Callable[[], Subscribed]):
    subscribed = subscribe()
    counts = []
    for _ in range(30):
        for event in EVENTS:
            subscribed.subscriber.on_event(event)
        counts.append(subscribed.dropped())
    assert counts[-1] > counts[9] > 0


class Failing:
    def on_event(self, event: CallEvent) -> None:
        raise ValueError("broken")


class Listing:
    def __init__(self, name: str, seen: list[tuple[str, CallEvent]]) -> None:
        self._name, self._seen = name, seen

    def on_event(self, event: CallEvent) -> None:
        self._seen.append((self._name, event))


def test_events_reach_subscribers_in_the_order_given_and_synchronously():
    seen: list[tuple[str, CallEvent]] = []
    subscriptions = Subscriptions((Listing("first", seen), Listing("second", seen)))
    publisher = CallPublisher("call_1", subscriptions, Metrics().call_faults)
    for event in EVENTS[:3]:
        publisher.publish(event)
        assert seen[-2:] == [("first", event), ("second", event)]


def test_subscriber_that_raises_is_dropped_logged_and_counted_once():
    seen: list[tuple[str, CallEvent]] = []
    metrics = Metrics()
    subscriptions = Subscriptions((Listing("first", seen), Failing(), Listing("last", seen)))
    publisher = CallPublisher("call_1", subscriptions, metrics.call_faults)
    with capture_logs() as entries:
        for event in EVENTS:
            publisher.publish(event)
    logged = [(entry["event"], entry["call"], entry["subscriber"]) for entry in entries]
    assert logged == [("subscriber_dropped", "call_1", "Failing")]
    assert value(metrics.registry, "voiceagent_call_faults_total", where="subscriber_Failing") == 1
    assert [event for name, event in seen if name == "last"] == list(EVENTS)
    assert len(seen) == 2 * len(EVENTS)


def test_call_without_subscribers_publishes_nothing():
    publisher = CallPublisher("call_1", Subscriptions(), Metrics().call_faults)
    assert not publisher.has_subscribers
    assert publisher.traceparent("resp_1") == ""
