"""Events reach their receiver, with retries if need be, and never delay the sender."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from webhook_receiver import receiving

from llmcore.policies.circuit_breaker import Backoff
from voiceagent.conversation import call_events
from voiceagent.conversation.history import MessageItem
from voiceagent.validation.errors import ConfigError
from voiceagent.webhooks.config import WebhooksConfig
from voiceagent.webhooks.message import WebhookEvent
from voiceagent.webhooks.sender import WebhookSender, WebhookSubscriber

SECRET = bytes(32)


def sender(url: str, registry: CollectorRegistry | None = None, **keys: float) -> WebhookSender:
    table = WebhooksConfig(url=url, secret_env="SECRET").model_copy(update=keys)
    return WebhookSender(
        table, SECRET, registry or CollectorRegistry(), lambda: 1000.0, backoff=Backoff(0.001, 0.001)
    )


@asynccontextmanager
async def running(webhooks: WebhookSender) -> AsyncIterator[WebhookSender]:
    task = asyncio.create_task(webhooks.run())
    try:
        yield webhooks
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def event(event_id: str = "evt_1") -> WebhookEvent:
    return WebhookEvent(event_id, "call.began", 1000, {})


def test_a_clock_that_is_set_back_makes_no_call_shorter() -> None:
    wall, monotonic, told = iter((4600.0, 1000.0)), iter((7.0, 72.0)), []
    call = WebhookSubscriber("call_1", told.append, lambda: next(wall), lambda: next(monotonic))
    call.on_event(call_events.CallBegan("Orders", "gpt", {}))
    call.on_event(call_events.CallEnded("the caller left", ()))
    assert [(event.kind, event.created_at) for event in told] == [("call.began", 4600), ("call.ended", 1000)]
    assert told[1].data["seconds"] == 65.0


async def test_a_call_is_told_of_when_it_begins_and_ends() -> None:
    async with receiving() as receiver:
        webhooks = sender(receiver.url)
        async with running(webhooks):
            call = webhooks.call("call_1")
            call.on_event(call_events.CallBegan("Orders", "gpt", {"from": "+4930"}))
            said = (MessageItem("1", "user", "hello"),)
            call.on_event(call_events.CallEnded("the caller left", said, "caller_hung_up"))
            await receiver.until(2)
    began, ended = sorted(receiver.events, key=lambda told: str(told["type"]))
    assert began["data"] == {
        "call_id": "call_1", "agent": "Orders", "model": "gpt", "parameters": {"from": "+4930"},
    }  # fmt: skip
    assert ended["data"] == {
        "call_id": "call_1", "reason": "the caller left", "seconds": 0.0, "parameters": {"from": "+4930"},
        "end_code": "caller_hung_up",
        "transcript": [{"role": "user", "text": "hello"}],
    }  # fmt: skip


async def test_of_a_call_that_never_began_nothing_is_told() -> None:
    sent: list[WebhookEvent] = []
    webhooks = sender("http://127.0.0.1:9")
    webhooks.send = sent.append  # type: ignore[method-assign]
    webhooks.call("call_1").on_event(call_events.CallEnded("refused", ()))
    assert not sent


async def test_of_a_call_that_was_lost_with_its_process_it_is_told_why() -> None:
    known = {"call_id": "call_1", "agent": "Orders", "parameters": {"from": "+4930"}}
    began = WebhookEvent("evt_1", "call.began", 990, known)
    async with receiving() as receiver:
        webhooks = sender(receiver.url)
        async with running(webhooks):
            webhooks.lost(began, "worker 0 was lost", seconds=10.0)
            await receiver.until(1)
    [ended] = receiver.events
    assert ended["type"] == "call.ended"
    assert ended["id"] != "evt_1"
    assert ended["data"] == {
        "call_id": "call_1", "reason": "worker 0 was lost", "seconds": 10.0, "parameters": {"from": "+4930"},
        "transcript": [], "lost": True, "end_code": "process_lost",
    }  # fmt: skip


@pytest.mark.parametrize("another", [True, False])
def test_what_another_process_posts_does_not_wait_here(another: bool) -> None:
    handed_over: list[WebhookEvent] = []

    def hand_over(event: WebhookEvent) -> bool:
        handed_over.append(event)
        return another

    registry = CollectorRegistry()
    table = WebhooksConfig(url="http://127.0.0.1:9", secret_env="SECRET").model_copy(
        update={"max_waiting": 1}
    )
    webhooks = WebhookSender(table, SECRET, registry, hand_over=hand_over)
    webhooks.send(event())
    webhooks.send(event("evt_2"))
    assert [one.event_id for one in handed_over] == ["evt_1", "evt_2"]
    dropped = registry.get_sample_value("voiceagent_webhooks_total", {"outcome": "dropped"})
    assert dropped == (None if another else 1)


async def test_an_event_that_is_refused_is_tried_again_as_the_same() -> None:
    async with receiving(500, 503) as receiver:
        webhooks = sender(receiver.url)
        async with running(webhooks):
            webhooks.send(event())
            await receiver.until(3)
    assert [told["id"] for told in receiver.events] == ["evt_1"] * 3


async def test_an_event_is_given_up_after_its_last_try() -> None:
    registry = CollectorRegistry()
    async with receiving(500, 500, None) as receiver:
        webhooks = sender(receiver.url, registry, attempts=3, timeout_s=0.1)
        async with running(webhooks):
            webhooks.send(event())
            await receiver.until(3)
            webhooks.send(event("evt_2"))
            await receiver.until(4)
    assert [told["id"] for told in receiver.events][-1] == "evt_2"
    assert registry.get_sample_value("voiceagent_webhooks_total", {"outcome": "failed"}) == 1


async def test_a_receiver_that_does_not_answer_is_told_in_words() -> None:
    async with receiving(None) as receiver:
        with capture_logs() as told:
            async with running(sender(receiver.url, attempts=1, timeout_s=0.1)) as webhooks:
                webhooks.send(event())
                await webhooks._waiting.join()
    assert [(line["event"], line["reason"]) for line in told] == [
        ("webhook_failed", "nothing came within 0.1 s"),
    ]


async def test_a_queue_that_is_full_drops_and_counts() -> None:
    registry = CollectorRegistry()
    webhooks = sender("http://127.0.0.1:9", registry, max_waiting=2)
    for number in range(5):
        webhooks.send(event(f"evt_{number}"))
    assert registry.get_sample_value("voiceagent_webhooks_total", {"outcome": "dropped"}) == 3


async def test_what_waits_when_the_server_ends_is_still_sent() -> None:
    async with receiving() as receiver:
        webhooks = sender(receiver.url)
        async with running(webhooks):
            await asyncio.sleep(0)  # it has begun
            for number in range(20):
                webhooks.send(event(f"evt_{number}"))
    assert len(receiver.events) == 20


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "not base64!"])
def test_a_secret_that_is_none_is_refused(secret: str) -> None:
    table = WebhooksConfig(url="https://h", secret_env="HOOK")
    with pytest.raises(ConfigError, match="'HOOK': holds no secret"):
        table.secret({"HOOK": secret}, Path("my.toml"))


def test_a_url_needs_a_secret() -> None:
    with pytest.raises(ValueError, match="url is set: set secret_env too"):
        WebhooksConfig(url="https://h")
