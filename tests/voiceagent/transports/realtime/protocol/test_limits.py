"""Limits on one event: it is refused before it is parsed, in work bounded by its length."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_settings import call_settings
from work import calls

from voiceagent.transports.limits import EventLimits
from voiceagent.transports.realtime.protocol.decode import Decoder
from voiceagent.transports.realtime.protocol.errors import RequestError

LIMITS = EventLimits()
ITEM = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}


def decode(event: dict[str, Any] | str, limits: EventLimits = LIMITS) -> Any:
    text = event if isinstance(event, str) else json.dumps(event)
    settings = call_settings()
    return Decoder(settings, "{}_1".format, limits).decode(text, settings)


def refused(event: dict[str, Any] | str, limits: EventLimits = LIMITS) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode(event, limits)
    return caught.value


def session(**fields: Any) -> dict[str, Any]:
    return {"type": "session.update", "session": {"type": "realtime", **fields}}


def tools(count: int) -> list[dict[str, Any]]:
    return [{"type": "function", "name": f"tool_{number}"} for number in range(count)]


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


TOO_MUCH = {
    "max_tools": (session(tools=tools(129)), "session.tools has 129 tools; allowed: at most 128"),
    "max_tools_bytes": (
        session(tools=[{**tools(1)[0], "description": "a" * 70_000}]),
        "allowed: at most 65536",
    ),
    "max_event_values": (
        session(tools=[{**tools(1)[0], "parameters": {"a": [0] * 10_000}}]),
        "allowed: at most 10000",
    ),
    "max_event_depth": (
        session(tools=[{**tools(1)[0], "parameters": nested(40)}]),
        "the event has 33 levels; allowed: at most 32",
    ),
    "max_instructions_characters": (
        session(instructions="a" * 100_001),
        "session.instructions has 100001 characters; allowed: at most 100000",
    ),
    "max_response_items": (
        {"type": "response.create", "response": {"input": [ITEM] * 501}},
        "response.input has 501 items; allowed: at most 500",
    ),
    "max_event_bytes": (session(instructions="a" * 300_000), "allowed: at most 262144"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_an_event_beyond_a_limit_is_refused_with_the_limits_key(name: str):
    event, told = TOO_MUCH[name]

    error = refused(event)

    assert error.code == "limit_exceeded"
    assert told in error.message
    assert (f"(limits.{name})" in error.message) == (name in EventLimits.model_fields)


def test_what_is_within_all_limits_is_taken():
    decode(session(tools=tools(128), instructions="a" * 100_000))
    decode({"type": "response.create", "response": {"input": [ITEM] * 500}})


def test_appended_sound_may_be_longer_than_other_events():
    decode({"event_id": "one", "audio": "AAAA" * 100_000, "type": "input_audio_buffer.append"})


def test_sound_in_items_may_be_longer_than_other_events():
    item = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_audio", "audio": "AAAA" * 100_000}],
    }
    decode({"type": "conversation.item.create", "item": item})


@pytest.mark.parametrize(
    ("event", "values"),
    [
        (session(tools=[0] * 9_000), 9_000),
        ({"type": "response.create", "response": {"input": [0] * 400}}, 400),
        ({"type": "conversation.item.create", "item": {**ITEM, "content": [0] * 9_000}}, 9_000),
        ({"type": "session.update", "session": {"type": "realtime", "include": [0] * 9_000}}, 9_000),
        ('{"type":"response.create","response":{"input":[' + ",".join("0" * 500_000) + "]}}", 0),
    ],
)
def test_many_mistakes_cost_one_look_at_each_value(event: dict[str, Any] | str, values: int):
    one = calls(lambda: decode(session(tools=[0])))

    assert calls(lambda: decode(event)) < one + values + 200


def test_the_largest_allowed_event_costs_a_few_calls_a_value():
    worst = {"type": "response.create", "response": {"input": [ITEM] * 500, "tools": tools(128)}}

    assert calls(lambda: decode(worst)) < 3 * LIMITS.max_event_values


def test_a_position_that_no_sound_has_is_refused():
    place = '"type":"conversation.item.truncate","item_id":"a","content_index":0'

    error = refused(f'{{{place},"audio_end_ms":1{"0" * 400}}}')

    assert (error.code, error.param) == ("invalid_value", "audio_end_ms")


def test_a_long_value_is_shown_short():
    assert len(refused(session(tool_choice="a" * 200_000)).message) < 400
    assert len(refused({"type": "x" * 200_000}).message) < 800
