"""Invalid session settings are refused with the field, the value and the allowed values."""

from __future__ import annotations

from typing import Any

import pytest
from session_updates import WEATHER, detection, input_, mistake, output, updated


@pytest.mark.parametrize(
    ("session", "code", "param", "words"),
    [
        ({"colour": "red"}, "unknown_parameter", "session.colour", "allowed: type, model"),
        ({"instructions": 3}, "invalid_type", "session.instructions", "3"),
        ({"type": "translation"}, "invalid_value", "session.type", "'realtime', 'transcription'"),
        (
            {"output_modalities": ["audio", "text"]},
            "invalid_value",
            "session.output_modalities",
            '["audio"]',
        ),
        ({"max_output_tokens": 0}, "invalid_value", "session.max_output_tokens", '1 to 4096, or "inf"'),
        ({"max_output_tokens": True}, "invalid_value", "session.max_output_tokens", "True"),
        ({"temperature": 3}, "invalid_value", "session.temperature", "3"),
        (
            {"tool_choice": {"type": "mcp", "server_label": "shop"}},
            "invalid_value",
            "session.tool_choice.server_label",
            "servers: none",
        ),
        ({"reasoning": {"effort": "huge"}}, "invalid_value", "session.reasoning.effort", "'minimal'"),
        ({"reasoning": {"depth": 2}}, "unknown_parameter", "session.reasoning.depth", "effort"),
        ({"truncation": {"type": "half"}}, "invalid_value", "session.truncation", "'auto' or 'disabled'"),
        ({"tracing": {"name": "x"}}, "invalid_value", "session.tracing", "'auto'"),
        ({"tool_choice": "sometimes"}, "invalid_value", "session.tool_choice", '"auto", "none", "required"'),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "fly"}},
            "invalid_value",
            "session.tool_choice",
            "tools: weather",
        ),
        ({"tools": [WEATHER, WEATHER]}, "invalid_value", "session.tools[1].name", "'weather'"),
        (
            {"tools": [{"type": "web_search"}]},
            "invalid_value",
            "session.tools[0].type",
            "'mcp'",
        ),
        (
            {"tools": [{"type": "mcp", "server_label": "x"}]},
            "missing_required_parameter",
            "session.tools[0].server_url",
            "missing",
        ),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "session.tools[0].name", "missing"),
        (
            {"tools": [{"type": "function", "name": "two words"}]},
            "invalid_value",
            "session.tools[0].name",
            "two",
        ),
        (
            {"prompt": {"id": "pmpt_1"}},
            "invalid_value",
            "session.prompt.id",
            "'pmpt_1'; allowed: none",
        ),
        ({"include": ["everything"]}, "invalid_value", "session.include[0]", "'everything'"),
        (output(speed=0.2), "invalid_value", "session.audio.output.speed", "greater than or equal to 0.25"),
        (output(speed=1.6), "invalid_value", "session.audio.output.speed", "less than or equal to 1.5"),
        (output(voice=3), "invalid_value", "session.audio.output.voice", "3"),
        (
            input_(format={"type": "audio/pcm", "rate": 16_000}),
            "invalid_value",
            "session.audio.input.format.rate",
            "16000: input should be 24000",
        ),
        (
            input_(transcription={"keywords": ["x"] * 257}),
            "invalid_value",
            "session.audio.input.transcription.keywords",
            "at most 256",
        ),
        (
            input_(transcription={"keywords": ["x" * 101]}),
            "invalid_value",
            "session.audio.input.transcription.keywords[0]",
            "at most 100",
        ),
        (
            input_(format={"type": "audio/opus"}),
            "invalid_value",
            "session.audio.input.format.type",
            "'audio/opus'; allowed: 'audio/pcm', 'audio/pcmu', 'audio/pcma'",
        ),
        (input_(format="pcm16"), "invalid_type", "session.audio.input.format", "'pcm16'"),
        (
            detection(type="always"),
            "invalid_value",
            "session.audio.input.turn_detection.type",
            "'always'; allowed: 'server_vad', 'semantic_vad'",
        ),
        (detection(), "missing_required_parameter", "session.audio.input.turn_detection.type", "missing"),
        (
            detection(type="server_vad", threshold=1.5),
            "invalid_value",
            "session.audio.input.turn_detection.threshold",
            "1.5",
        ),
        (
            detection(type="server_vad", silence_duration_ms="200"),
            "invalid_type",
            "session.audio.input.turn_detection.silence_duration_ms",
            "'200'",
        ),
        (
            detection(type="server_vad", prefix_padding_ms=5000),
            "invalid_value",
            "session.audio.input.turn_detection.prefix_padding_ms",
            "less than or equal to 1000",
        ),
        (
            detection(type="semantic_vad", eagerness="eager"),
            "invalid_value",
            "session.audio.input.turn_detection.eagerness",
            "'low', 'medium', 'high' or 'auto'",
        ),
        (
            detection(type="semantic_vad", silence_duration_ms=200),
            "unknown_parameter",
            "session.audio.input.turn_detection.silence_duration_ms",
            "allowed: type, eagerness",
        ),
    ],
)
def test_what_cannot_be_set_is_named_with_what_is_allowed(
    session: dict[str, Any], code: str, param: str, words: str
) -> None:
    error = mistake(**session)
    assert (error.code, error.param) == (code, param)
    assert words in error.message


CITY = "parameters.properties.city"


@pytest.mark.parametrize(
    ("parameters", "place", "words"),
    [
        ({"type": "string"}, "parameters.type", "is 'string': input should be 'object'"),
        ({"type": ["object", "null"]}, "parameters.type", "input should be 'object'"),
        ({"type": "object", "properties": ["city"]}, "parameters.properties", "['city']"),
        (
            {"type": "object", "properties": {"city": "string"}},
            CITY,
            "'string': input should be a valid dict",
        ),
        (
            {"type": "object", "properties": {"city": {"type": "txt"}}},
            f"{CITY}.type",
            "'txt': input should be",
        ),
        ({"type": "object", "properties": {"city": {"required": True}}}, f"{CITY}.required", "valid list"),
        ({"type": "object", "properties": {"city": {"anyOf": []}}}, f"{CITY}.anyOf", "at least 1 item"),
        ({"type": "object", "required": "city"}, "parameters.required", "'city'"),
        ({"type": "object", "$defs": {"a": {"minLength": -1}}}, "parameters.$defs.a.minLength", "-1"),
    ],
)
def test_what_a_function_takes_is_a_json_schema(parameters: dict[str, Any], place: str, words: str) -> None:
    error = mistake(tools=[{**WEATHER, "parameters": parameters}])
    assert (error.code, error.param) == ("invalid_function_parameters", f"session.tools[0].{place}")
    assert words in error.message
    assert "the parameters of 'weather' must be a JSON Schema of an object" in error.message


def test_the_place_of_a_mistake_in_a_schema_is_shown_cut() -> None:
    error = mistake(tools=[{**WEATHER, "parameters": {"properties": {"x" * 60_000: 3}}}])
    assert len(error.message) < 500


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"properties": {"a": True, "b": {}}},
        {
            "type": "object",
            "properties": {"a": {"type": ["string", "null"], "format": "date", "title": None}},
        },
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"enum": [1, "2"]}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"not": {"minimum": 0.5}}}}},
    ],
)
def test_any_schema_of_an_object_goes_to_the_model_as_it_came(parameters: dict[str, Any]) -> None:
    (tool,) = updated(tools=[{**WEATHER, "parameters": parameters}]).tools
    assert tool.parameters == parameters
