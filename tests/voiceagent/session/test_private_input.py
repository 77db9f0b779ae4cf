"""Log and recording of a call while the agent's code collects private input."""

from __future__ import annotations

from typing import Any

import numpy as np
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient

from audio.pcm import Samples
from tests.voiceagent.session.test_session import Brain, Ears, Mouth
from voiceagent.conversation import events as ev
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.conversation.history import MessageItem
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.session import Session

SOUND = np.full(480, 1000, np.int16)


class Kept:
    """A recorder and a log."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.peaks: list[int] = []

    def on_event(self, event: CallEvent) -> None:
        if isinstance(event, EventHandled):
            self.events.append((event.event, event.commands))

    def on_input_audio(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        self.peaks.append(int(np.abs(samples).max()))

    def on_output_audio(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        pass


async def test_words_keys_and_sound_of_private_input_are_not_kept() -> None:
    kept = Kept()
    services = await call_services(Ears(), Brain(), Mouth())
    session = Session("call_1", services, call_settings(), FakeClient(), Subscriptions((kept,), kept))
    session.begin()
    session.hear(SOUND)
    session.post(ev.TurnsClaimed(True, private=True))
    session.hear(SOUND)
    session.press("7", 0)
    session.handle(ev.ItemCreated(MessageItem("item_1", "user", "four two four two")))
    session.post(ev.TurnsClaimed(False))
    session.hear(SOUND)
    await session.close("test over")
    assert kept.peaks == [1000, 0, 1000]
    assert "four two" not in str(kept.events)
    assert "digit='7'" not in str(kept.events)
