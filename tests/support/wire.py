"""A client's events, validated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from call_settings import call_settings
from openai_types import proved
from response_order import ResponseOrder

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.notifications import Notification
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.encode import Encoder

FRAME = np.arange(480, dtype=np.int16)


class Wire:
    """A client's events: each is validated, and their order too."""

    def __init__(self, settings: CallSettings | None = None) -> None:
        self.encoder = Encoder("sess_1", "conv_1")
        self.order = ResponseOrder()
        self.notify(notify.NotifySettings(settings or call_settings(), created=True))

    def notify(self, *notifications: Notification) -> list[dict[str, Any]]:
        events = [
            proved(event) for notification in notifications for event in self.encoder.encode(notification)
        ]
        for event in events:
            self.order.take(event)
        return events

    def play(self, response_id: str, frame: Samples = FRAME) -> dict[str, Any]:
        text = self.encoder.encode_audio(response_id, frame)
        assert text is not None
        event = proved(json.loads(text))
        self.order.take(event)
        return event


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]
