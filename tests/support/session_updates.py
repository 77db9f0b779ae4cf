"""Updates of a session for tests: those that the `openai` package can send, and those that are mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from openai_types import client_event

from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.decode import Decoder
from voiceagent.transports.realtime.protocol.errors import RequestError

OPERATOR = call_settings(
    instructions="You are the operator's agent.",
    max_output_tokens=200,
    turn_detection=turn_detection(threshold=0.6, silence_s=0.25),
)
WEATHER = {"type": "function", "name": "weather", "description": "Sky.", "parameters": {"type": "object"}}


def updated(settings: CallSettings = OPERATOR, **session: Any) -> CallSettings:
    return update(client_event(type="session.update", session={"type": "realtime", **session}), settings)


def update(text: str, settings: CallSettings) -> CallSettings:
    request = Decoder(OPERATOR, lambda prefix: prefix).decode(text, settings)
    assert isinstance(request, ev.SettingsChanged)
    return request.settings


def mistake(**session: Any) -> RequestError:
    text = json.dumps({"type": "session.update", "session": {"type": "realtime", **session}})
    with pytest.raises(RequestError) as caught:
        update(text, OPERATOR)
    return caught.value


def input_(**fields: Any) -> dict[str, Any]:
    return {"audio": {"input": fields}}


def output(**fields: Any) -> dict[str, Any]:
    return {"audio": {"output": fields}}


def detection(**fields: Any) -> dict[str, Any]:
    return input_(turn_detection=fields)
