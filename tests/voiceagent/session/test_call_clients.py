"""The clients of one call: its own client and sidebands."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from call_settings import call_settings
from fake_client import FakeClient

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.notifications import Notification
from voiceagent.session.call_clients import MAX_HELD, CallClients, SoundChange

SETTINGS = call_settings()
FRAME = np.zeros(480, np.int16)


class FakeSideband(FakeClient):
    """broken: if True, each notification raises."""

    def __init__(self) -> None:
        super().__init__()
        self.sound: list[tuple[SoundChange, str]] = []
        self.broken = False
        self.failures = 0

    def notify(self, notification: Notification) -> None:
        if self.broken:
            raise ValueError("broken")
        super().notify(notification)

    def sound_changed(self, change: SoundChange, response_id: str) -> None:
        self.sound.append((change, response_id))

    def fail(self) -> None:
        self.failures += 1


@pytest.fixture
def own() -> FakeClient:
    return FakeClient()


@pytest.fixture
def clients(own: FakeClient) -> CallClients:
    return CallClients(own)


def test_each_sideband_has_a_number_and_is_notified_until_it_is_detached(
    own: FakeClient, clients: CallClients
):
    first, second = FakeSideband(), FakeSideband()
    assert (clients.attach(first, SETTINGS), clients.attach(second, SETTINGS)) == (1, 2)
    assert first.notifications == [notify.NotifySettings(SETTINGS, created=True)]
    clients.detach(1)
    clients.notify(notify.NotifyInputCleared())
    assert len(first.notifications) == 1
    assert own.notifications == second.notifications[1:] == [notify.NotifyInputCleared()]
    assert clients.attach(FakeSideband(), SETTINGS) == 3, "no number is given twice"


def test_an_error_that_answers_a_sideband_goes_to_it_alone(own: FakeClient, clients: CallClients):
    asking, other = FakeSideband(), FakeSideband()
    number = clients.attach(asking, SETTINGS)
    clients.attach(other, SETTINGS)
    error = notify.NotifyError("invalid_value", "no")
    with clients.answering(number):
        clients.notify(error)
        clients.notify(notify.NotifyInputCleared())
    assert asking.notifications[1:] == [error, notify.NotifyInputCleared()]
    assert own.notifications == other.notifications[1:] == [notify.NotifyInputCleared()]
    clients.notify(error)
    assert own.notifications[-1] == other.notifications[-1] == asking.notifications[-1] == error


def test_one_that_comes_late_is_notified_of_the_responses_in_progress(clients: CallClients):
    begun = notify.NotifyResponseStarted("resp_1", "audio")
    said = notify.NotifyResponseText("resp_1", "item_1", None, "Hello")
    clients.notify(notify.NotifyResponseStarted("resp_0", "text"))
    clients.notify(notify.NotifyResponseEnded("resp_0", "completed"))
    clients.notify(begun)
    clients.notify(said)
    late = FakeSideband()
    clients.attach(late, SETTINGS)
    assert late.notifications[1:] == [begun, said]


def test_sidebands_learn_when_sound_begins_ends_and_is_dropped_and_get_none(
    own: FakeClient, clients: CallClients
):
    sideband = FakeSideband()
    clients.attach(sideband, SETTINGS)
    for response_id in ("resp_1", "resp_1", "resp_2"):
        clients.play(response_id, FRAME)
        if response_id == "resp_2":
            clients.clear()
    clients.notify(notify.NotifyResponseEnded("resp_2", "cancelled"))
    clients.play("resp_3", FRAME)
    clients.notify(notify.NotifyResponseEnded("resp_3", "completed"))
    assert sideband.sound == [
        ("started", "resp_1"),
        ("started", "resp_2"),
        ("cleared", "resp_2"),
        ("started", "resp_3"),
        ("stopped", "resp_3"),
    ]
    assert (len(own.frames), len(sideband.frames)) == (4, 0)


def test_a_sideband_that_raises_is_ended_and_the_others_go_on(own: FakeClient, clients: CallClients):
    bad, good = FakeSideband(), FakeSideband()
    clients.attach(bad, SETTINGS)
    clients.attach(good, SETTINGS)
    bad.broken = True
    clients.notify(notify.NotifyInputCleared())
    clients.notify(notify.NotifyInputCleared())
    assert (bad.failures, len(own.notifications), len(good.notifications)) == (1, 2, 3)
    assert len(clients) == 1


async def test_what_is_held_is_done_once_the_call_has_begun(clients: CallClients):
    done: list[int] = []
    held = [clients.hold(lambda number=number: done.append(number)) for number in range(MAX_HELD + 1)]
    assert held == [True] * MAX_HELD + [False]
    clients.notify(notify.NotifySettings(SETTINGS, created=True))
    assert clients.begun
    assert not done, "not within the event that begins the call"
    await asyncio.sleep(0)
    assert done == list(range(MAX_HELD))
