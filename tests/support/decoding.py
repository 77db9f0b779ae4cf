"""Decodes client events for tests: those that the `openai` package can send, and those that are mistakes."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from call_settings import call_settings
from openai_types import client_event

from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.decode import AudioAppended, Decoder
from voiceagent.transports.realtime.protocol.errors import RequestError

CALL = call_settings()
WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object"},
}


def decode(text: str | bytes, settings: CallSettings = CALL) -> ev.ClientRequest | AudioAppended:
    numbers = count(1)
    return Decoder(CALL, lambda prefix: f"{prefix}_{next(numbers)}").decode(text, settings)


def sent(settings: CallSettings = CALL, **fields: Any) -> ev.ClientRequest | AudioAppended:
    return decode(client_event(**fields), settings)


def mistake(text: str | bytes | None = None, settings: CallSettings = CALL, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode(json.dumps(fields) if text is None else text, settings)
    return caught.value
