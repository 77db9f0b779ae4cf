"""What the supervisor says of the calls of a worker that was lost."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from voiceagent.server.lost_calls import LostCalls
from voiceagent.webhooks.config import WebhooksConfig
from voiceagent.webhooks.message import WebhookEvent
from voiceagent.webhooks.sender import WebhookSender


class Webhooks(WebhookSender):
    """Keeps what would be posted."""

    def __init__(self) -> None:
        table = WebhooksConfig(url="http://127.0.0.1:9", secret_env="SECRET")
        super().__init__(table, bytes(32), CollectorRegistry())
        self.sent: list[tuple[str, str]] = []

    def send(self, event: WebhookEvent) -> None:
        self.sent.append((event.kind, event.data["call_id"]))


def told(kind: str, call_id: str) -> WebhookEvent:
    return WebhookEvent(f"evt_{kind}_{call_id}", f"call.{kind}", 1000, {"call_id": call_id})


@pytest.fixture
def webhooks() -> Webhooks:
    return Webhooks()


@pytest.fixture
def lost_calls(webhooks: Webhooks) -> LostCalls:
    return LostCalls(None, lambda spans: None, webhooks)


def test_who_was_told_that_a_call_began_is_told_that_it_ended_with_its_worker(
    lost_calls: LostCalls, webhooks: Webhooks
) -> None:
    lost_calls.told(0, told("began", "lost"))
    lost_calls.told(0, told("began", "over"))
    lost_calls.told(0, told("ended", "over"))
    lost_calls.told(1, told("began", "of another worker"))
    webhooks.sent.clear()
    lost_calls.lost(0, "killed")
    lost_calls.lost(0, "killed again")
    assert webhooks.sent == [("call.ended", "lost")]


def test_what_a_worker_tells_is_posted_whether_it_lives_or_not(
    lost_calls: LostCalls, webhooks: Webhooks
) -> None:
    lost_calls.told(0, told("began", "a"))
    lost_calls.told(0, told("ended", "a"))
    lost_calls.lost(0, "killed")
    assert webhooks.sent == [("call.began", "a"), ("call.ended", "a")]
