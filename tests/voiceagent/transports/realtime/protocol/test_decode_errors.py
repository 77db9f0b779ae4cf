"""Mistakes of a client become errors that name the field, its value and what is allowed."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from decoding import WEATHER, decode, mistake, sent
from hypothesis import example, given
from hypothesis import strategies as st

from audio.pcm import AudioFormat
from audio.wav import wav_bytes
from voiceagent.transports.realtime.protocol.decode import append_sound
from voiceagent.transports.realtime.protocol.errors import RequestError

# ---- mistakes


@pytest.mark.parametrize("text", ["", "hello", "[1, 2]", "null", '{"a": NaN}', "[" * 10_000, b"\xff"])
def test_text_that_is_not_a_json_object_is_an_error(text: str | bytes) -> None:
    assert mistake(text).code == "invalid_json"


def test_half_a_character_is_not_json() -> None:
    text = '{"type":"session.update","session":{"type":"realtime","instructions":"\\ud83d"}}'
    assert mistake(text).code == "invalid_json"


def test_an_unknown_event_names_those_allowed() -> None:
    error = mistake(type="response.start", event_id="e1")
    assert (error.code, error.param, error.client_event_id) == ("invalid_value", "type", "e1")
    assert "'response.start'" in error.message
    assert "response.create" in error.message


def test_an_event_without_a_type_is_an_error() -> None:
    error = mistake("{}")
    assert (error.code, error.param) == ("missing_required_parameter", "type")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"type": "session.update"}, "session"),
        ({"type": "session.update", "session": {}}, "session.type"),
        ({"type": "input_audio_buffer.append"}, "audio"),
        ({"type": "conversation.item.create"}, "item"),
        ({"type": "conversation.item.create", "item": {}}, "item.type"),
        ({"type": "conversation.item.create", "item": {"type": "message"}}, "item.role"),
        (
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "user", "content": [{}]},
            },
            "item.content[0].type",
        ),
        ({"type": "conversation.item.delete"}, "item_id"),
        ({"type": "conversation.item.truncate", "item_id": "i", "content_index": 0}, "audio_end_ms"),
    ],
)
def test_a_missing_field_is_named_by_its_path(fields: dict[str, Any], param: str) -> None:
    error = mistake(event_id="e1", **fields)
    assert (error.code, error.param) == ("missing_required_parameter", param)
    assert error.client_event_id == "e1"
    assert param in error.message


@pytest.mark.parametrize(
    ("fields", "code", "param", "words"),
    [
        ({"type": "input_audio_buffer.append", "audio": 3}, "invalid_type", "audio", "3"),
        ({"type": "response.cancel", "response_id": 3}, "invalid_type", "response_id", "3"),
        ({"type": "response.cancel", "id": "r"}, "unknown_parameter", "id", "response_id"),
        (
            {"type": "conversation.item.truncate", "item_id": "i", "content_index": 1, "audio_end_ms": 5},
            "invalid_value",
            "content_index",
            "0",
        ),
        (
            {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": -5},
            "invalid_value",
            "audio_end_ms",
            "-5",
        ),
        (
            {"type": "conversation.item.create", "item": {"type": "mcp_call"}},
            "invalid_value",
            "item.type",
            "'mcp_call'; allowed: 'message'",
        ),
        (
            {"type": "conversation.item.create", "item": {"type": "message", "role": "robot", "content": []}},
            "invalid_value",
            "item.role",
            "'robot'; allowed: 'system', 'user', 'assistant'",
        ),
        (
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "user", "content": [{"type": "input_video"}]},
            },
            "invalid_value",
            "item.content[0].type",
            "'input_video'; allowed: 'input_text', 'input_audio'",
        ),
        (
            {"type": "response.create", "response": {"metadata": {"a": 1}}},
            "invalid_type",
            "response.metadata.a",
            "1",
        ),
        (
            {"type": "response.create", "response": {"conversation": "other"}},
            "invalid_value",
            "response.conversation",
            "'auto' or 'none'",
        ),
        (
            {"type": "response.create", "response": {"tool_choice": {"type": "function", "name": "fly"}}},
            "invalid_value",
            "response.tool_choice",
            "'fly'",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_value(
    fields: dict[str, Any], code: str, param: str, words: str
) -> None:
    error = mistake(**fields)
    assert (error.code, error.param) == (code, param)
    assert words in error.message


@pytest.mark.parametrize("audio", ["A", "AAA", "AA=A", "äö", "A A A ", "AAA\nA="])
def test_audio_that_is_not_base64_is_an_error(audio: str) -> None:
    error = mistake(type="input_audio_buffer.append", audio=audio)
    assert (error.code, error.param) == ("invalid_value", "audio")


def test_half_a_sample_is_an_error() -> None:
    audio = base64.b64encode(b"\0" * 3).decode()
    error = mistake(type="input_audio_buffer.append", audio=audio)
    assert (error.code, error.param) == ("invalid_value", "audio")
    assert "half a sample" in error.message
    assert sent(call_settings(input_format=AudioFormat.PCMU), type="input_audio_buffer.append", audio=audio)


def test_a_file_in_place_of_raw_audio_is_refused_by_name() -> None:
    audio = base64.b64encode(wav_bytes(np.zeros(480, np.int16), 24_000)).decode()
    error = mistake(type="input_audio_buffer.append", audio=audio)
    assert (error.code, error.param) == ("invalid_value", "audio")
    assert "audio is a WAV file; allowed: raw audio/pcm at 24000 Hz" in error.message
    part = {"type": "input_audio", "audio": audio}
    item = {"type": "message", "role": "user", "content": [part]}
    error = mistake(type="conversation.item.create", item=item)
    assert error.param == "item.content[0].audio"


def test_a_file_does_not_pass_by_the_fast_path() -> None:
    audio = base64.b64encode(wav_bytes(np.zeros(480, np.int16), 24_000)).decode()
    text = json.dumps({"type": "input_audio_buffer.append", "audio": audio})
    assert append_sound(text, AudioFormat.PCM_24K) is None


def test_a_long_value_is_shortened_in_the_error() -> None:
    assert len(mistake(type="x" * 10_000).message) < 1_000


# ---- whatever comes

VALID: list[dict[str, Any]] = [
    {
        "type": "session.update",
        "session": {
            "type": "realtime",
            "instructions": "Be kind.",
            "tools": [WEATHER],
            "tool_choice": {"type": "function", "name": "weather"},
            "max_output_tokens": 5,
            "voiceagent": {"latency": True},
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": 24_000},
                    "turn_detection": {"type": "server_vad", "silence_duration_ms": 200},
                    "transcription": {"model": "whisper-1"},
                },
                "output": {"format": {"type": "audio/pcmu"}, "voice": {"id": "v"}, "speed": 1.0},
            },
        },
    },
    {
        "type": "conversation.item.create",
        "previous_item_id": "root",
        "item": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}, {"type": "input_audio", "transcript": "hi"}],
        },
    },
    {
        "type": "response.create",
        "response": {
            "metadata": {"a": "b"},
            "input": [{"type": "function_call_output", "call_id": "c", "output": "o"}],
            "audio": {"output": {"voice": "v"}},
        },
    },
    {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": 5},
    {"type": "input_audio_buffer.append", "audio": "AAA=", "event_id": "e"},
]
NAMES = st.sampled_from(["type", "id", "name", "role", "content", "text", "format", "other"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | NAMES,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(NAMES, values, max_size=3),
    max_leaves=4,
)


def changed(value: Any, data: st.DataObject) -> Any:
    """The value with something else in one place, at any depth."""
    if isinstance(value, dict) and data.draw(st.integers(0, 3)):
        name = data.draw(st.sampled_from(sorted(value)) | NAMES)
        return {**value, name: changed(value.get(name), data)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        return [changed(value[0], data), *value[1:]]
    return data.draw(JSON)


@given(st.binary() | st.text())
@example(b"{}")
def test_any_bytes_are_a_request_or_an_error(text: bytes | str) -> None:
    _decoded_or_refused(text)


@given(st.sampled_from(VALID), st.data())
def test_an_event_with_anything_changed_is_a_request_or_an_error(
    event: dict[str, Any], data: st.DataObject
) -> None:
    _decoded_or_refused(json.dumps(event))
    _decoded_or_refused(json.dumps(changed(event, data)))


def _decoded_or_refused(text: bytes | str) -> None:
    try:
        decode(text)
    except RequestError as error:
        assert error.message
        assert error.code
