"""The supervisor's reports of the calls of a lost worker."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from call_settings import call_settings
from call_world import POLICY, RATE_HZ
from kept_folder import conversation, keep_calls
from prometheus_client import CollectorRegistry

from voiceagent.conversation import call_events
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
        self.transcripts: list[Any] = []
        self.seconds: list[float] = []

    def send(self, event: WebhookEvent) -> None:
        self.sent.append((event.kind, event.data["call_id"]))
        if "transcript" in event.data:
            self.seconds.append(event.data["seconds"])
            self.transcripts.append(event.data["transcript"])


def told(kind: str, call_id: str) -> WebhookEvent:
    return WebhookEvent(f"evt_{kind}_{call_id}", f"call.{kind}", 1000, {"call_id": call_id, "parameters": {}})


@pytest.fixture
def webhooks() -> Webhooks:
    return Webhooks()


@pytest.fixture
def lost_calls(webhooks: Webhooks) -> LostCalls:
    return LostCalls(None, lambda spans: None, webhooks)


def test_who_was_told_that_a_call_began_is_told_that_it_ended_with_its_worker(
    lost_calls: LostCalls, webhooks: Webhooks
) -> None:
    lost_calls.on_notification(0, told("began", "lost"))
    lost_calls.on_notification(0, told("began", "over"))
    lost_calls.on_notification(0, told("ended", "over"))
    lost_calls.on_notification(1, told("began", "of another worker"))
    webhooks.sent.clear()
    lost_calls.lost(0, "killed")
    lost_calls.lost(0, "killed again")
    assert webhooks.sent == [("call.ended", "lost")]


def test_a_lost_call_lasted_as_long_as_it_did_though_the_clock_was_set(
    lost_calls: LostCalls, webhooks: Webhooks
) -> None:
    lost_calls.on_notification(0, told("began", "lost"))  # by a clock that said 1970 then
    lost_calls.lost(0, "killed")
    assert webhooks.seconds == [0.0]


def test_what_a_worker_tells_is_posted_whether_it_lives_or_not(
    lost_calls: LostCalls, webhooks: Webhooks
) -> None:
    lost_calls.on_notification(0, told("began", "a"))
    lost_calls.on_notification(0, told("ended", "a"))
    lost_calls.lost(0, "killed")
    assert webhooks.sent == [("call.began", "a"), ("call.ended", "a")]


def killed_in_an_answer(folder: Path, words: str) -> None:
    """The log of a call, as its process leaves it that is killed while the agent speaks."""
    world = conversation()
    world.say("and a sauna")
    world.make("Yes, on the roof.")
    kept = keep_calls(
        folder / "of the process", personal_data=words
    )  # which holds its log as long as it lives
    call = kept.keep("call_1", call_settings(), POLICY, RATE_HZ)
    for step in world.steps:
        call.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    kept.close()
    (day,) = (folder / "of the process").glob("*-*-*")
    shutil.copytree(day, folder / day.name)


SAID = [
    {"role": "assistant", "text": "Hello."},
    {"role": "user", "text": "is there a pool"},
    {"role": "assistant", "text": "Yes, there is."},
    {"role": "user", "text": "and a sauna"},
    {"role": "assistant", "text": "Yes, on the roof.", "unfinished": True},
]


@pytest.mark.parametrize(("words", "said"), [("keep", SAID), ("redact", [])])
async def test_of_a_lost_call_is_told_what_its_kept_log_has_of_its_words(
    tmp_path: Path, webhooks: Webhooks, words: str, said: list[dict[str, Any]]
) -> None:
    killed_in_an_answer(tmp_path, words)
    lost_calls = LostCalls(tmp_path, lambda spans: None, webhooks)
    for call_id in ("call_1", "call_without_a_log"):
        lost_calls.on_notification(0, told("began", call_id))
    lost_calls.lost(0, "killed")
    await lost_calls.close()
    assert webhooks.sent[2:] == [("call.ended", "call_1"), ("call.ended", "call_without_a_log")]
    assert webhooks.transcripts == [said, []]


async def test_a_log_that_cannot_be_read_keeps_no_end_from_being_told(
    tmp_path: Path, webhooks: Webhooks
) -> None:
    log = tmp_path / "2026-11-26/call_1/log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("no log\n")
    lost_calls = LostCalls(tmp_path, lambda spans: None, webhooks)
    lost_calls.on_notification(0, told("began", "call_1"))
    lost_calls.lost(0, "killed")
    await lost_calls.close()
    assert webhooks.transcripts == [[]]
