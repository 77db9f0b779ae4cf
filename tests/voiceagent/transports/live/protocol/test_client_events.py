"""Every client event of the `openai` package is taken, or refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from live_types import CLIENT_EVENT, types_of
from openai.types.live import ClientEvent
from openai.types.live.connect_client_event import ConnectClientEvent

from voiceagent.conversation.history import Item, MessageItem, ToolOutputItem
from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.live.protocol.decode import decode, to_history_item
from voiceagent.transports.realtime.protocol.errors import RequestError

CONTEXT = {"content": "It rains.", "delegation_id": None}
TAKEN: dict[str, dict[str, Any]] = {
    "session.start": {"session": {"model": "gpt-live-1"}},
    "session.update": {"session": {}},
    "session.close": {},
    "session.input_audio.append": {"audio": "AAAA"},
    "session.input_audio.mute": {},
    "session.input_audio.unmute": {},
    "session.output_audio.fixture.play": {"audio": "AAAA"},
    "session.instructions.append": CONTEXT,
    "session.thinking.append": CONTEXT,
    "session.commentary.append": CONTEXT,
    "response.item.create": {"item": {"type": "function_call_output", "call_id": "c", "output": "rain"}},
    "response.create": {},
}
REFUSED: dict[str, dict[str, Any]] = {
    "decision.create": {"event_id": "e"},
    "decision.item.create": {"item": {"type": "message", "role": "user", "content": "Hello."}},
    "decision.item.delete": {"item_id": "i"},
    "transport.dtmf.send": {"event": "1"},
}
DECISIONS = "session.delegation.decisions"
FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}
BACKEND = {
    "model": "gpt-5",
    "instructions": "Look it up.",
    "max_output_tokens": 500,
    "parallel_tool_calls": True,
    "reasoning": {"effort": "low"},
    "service_tier": "priority",
    "text": {"verbosity": "low"},
    "tool_choice": {"type": "function", "name": "weather"},
    "tools": [FUNCTION],
}


def taken(kind: str, **fields: Any) -> Any:
    """Decode an event that the package's clients could send."""
    text = json.dumps({"type": kind, **fields})
    if kind not in ("transport.dtmf.send",):
        CLIENT_EVENT.validate_json(text)
    return decode(text, USUAL_LIMITS)


def refusal(kind: str, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode(json.dumps({"type": kind, "event_id": "e1", **fields}), USUAL_LIMITS)
    assert caught.value.client_event_id == fields.get("event_id", "e1")
    return caught.value


def start(**session: Any) -> RequestError:
    return refusal("session.start", session={"model": "m", **session})


def test_the_table_has_every_event_of_the_package() -> None:
    sdk = types_of(ClientEvent) | types_of(ConnectClientEvent)
    assert sdk <= TAKEN.keys() | REFUSED.keys()


MCP = {"type": "mcp", "server_label": "docs", "server_url": "https://a.b/mcp"}
NULLS = ("connector_id", "tunnel_id", "defer_loading", "allowed_callers", "authorization", "headers")


def test_tool_server_may_have_null_in_every_field_of_the_package() -> None:
    tool = MCP | dict.fromkeys(NULLS)
    backend = {"type": "responses", "responses": {"model": "m", "tools": [tool]}}
    assert taken("session.start", session={"model": "m", "delegation": backend}).session.delegation


@pytest.mark.parametrize("field", ["connector_id", "tunnel_id"])
def test_tool_server_without_a_url_is_refused_with_what_is_needed(field: str) -> None:
    backend = {"type": "responses", "responses": {"model": "m", "tools": [MCP | {field: "x"}]}}
    assert "server_url" in start(delegation=backend).message


@pytest.mark.parametrize("kind", TAKEN)
def test_event_is_taken(kind: str) -> None:
    assert taken(kind, **TAKEN[kind]).type == kind


@pytest.mark.parametrize("kind", REFUSED)
def test_event_is_refused_with_its_reason(kind: str) -> None:
    error = refusal(kind, **REFUSED[kind])
    assert (error.code, error.param) == ("not_supported", "type")
    assert len(error.message.split()) > 5


def test_unknown_event_is_refused_with_the_known_ones() -> None:
    error = refusal("session.begin")
    assert (error.code, error.param) == ("invalid_value", "type")
    assert "session.start" in error.message


@pytest.mark.parametrize(
    "session",
    [
        {"audio": {"format": {"type": "audio/pcm", "rate": 16_000}, "output": {"voice": "marin"}}},
        {"audio": {"format": {"type": "audio/pcmu", "rate": 8_000}, "output": {"voice": {"id": "voice_1"}}}},
        {"delegation": None},
        {"delegation": {"type": "client", "acknowledgement_delay_ms": 0}},
        {"delegation": {"type": "responses", "responses": BACKEND}},
        {"input": [{"role": "developer", "content": [{"text": "Be kind."}]}] * 128},
        {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}]},
        {"store": True, "safety_identifier": "u", "triggers": []},
    ],
)
def test_session_is_taken(session: dict[str, Any]) -> None:
    assert taken("session.start", session={"model": "gpt-live-1", **session}).session.model == "gpt-live-1"


@pytest.mark.parametrize(
    ("session", "code", "param"),
    [
        ({"voice": "marin"}, "unknown_parameter", "session.voice"),
        (
            {"audio": {"format": {"type": "audio/pcm", "rate": 8_000}}},
            "invalid_value",
            "session.audio.format.rate",
        ),
        ({"audio": {"format": {"type": "audio/opus"}}}, "invalid_value", "session.audio.format.type"),
        ({"delegation": {"type": "decisions", "decisions": {}}}, "invalid_value", DECISIONS),
        ({"delegation": {"type": "responses"}}, "missing_required_parameter", "session.delegation.responses"),
        ({"client": {"data_channel": {}}}, "invalid_value", "session.client"),
        ({"idle_timeout_s": 0}, "invalid_value", "session.idle_timeout_s"),
        ({"wake_policy": {"type": "tap"}}, "invalid_value", "session.wake_policy.type"),
        (
            {"wake_policy": {"type": "speech", "vad_threshold": 1.1}},
            "invalid_value",
            "session.wake_policy.vad_threshold",
        ),
        ({"triggers": [{"type": "decisions"}]}, "invalid_value", "session.triggers"),
        ({"input": [{"role": "user", "content": [{"text": "a"}]}] * 129}, "invalid_value", "session.input"),
        (
            {"input": [{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}]},
            "invalid_value",
            "session.input[0].content",
        ),
        (
            {
                "delegation": {
                    "type": "responses",
                    "responses": {"model": "m", "tools": [{"type": "web_search"}]},
                }
            },
            "invalid_value",
            "session.delegation.responses.tools[0].type",
        ),
    ],
)
def test_session_is_refused_with_the_field_at_fault(session: dict[str, Any], code: str, param: str) -> None:
    error = start(**session)
    assert (error.code, error.param) == (code, param)


def test_context_needs_its_delegation_even_if_null() -> None:
    error = refusal("session.thinking.append", content="It rains.")
    assert (error.code, error.param) == ("missing_required_parameter", "delegation_id")


def test_context_is_limited() -> None:
    error = refusal("session.commentary.append", content="a" * 4_001, delegation_id=None)
    assert (error.code, error.param) == ("invalid_value", "content")


@pytest.mark.parametrize(
    ("wire", "item"),
    [
        (
            {"type": "function_call_output", "call_id": "c", "output": "rain"},
            ToolOutputItem("i", "c", "rain"),
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "rain"}],
            },
            ToolOutputItem("i", "c", "rain"),
        ),
        ({"role": "developer", "content": "Be kind."}, MessageItem("i", "system", "Be kind.")),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
            MessageItem("i", "user", "Hello."),
        ),
    ],
)
def test_item_of_the_backend_becomes_an_item_of_the_history(wire: dict[str, Any], item: Item) -> None:
    assert to_history_item(wire, "i") == item


@pytest.mark.parametrize(
    ("wire", "param"),
    [
        ({"type": "reasoning", "id": "r", "summary": []}, "item.type"),
        ({"type": "function_call_output", "output": "rain"}, "item.call_id"),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}, "item.content[0]"),
    ],
)
def test_other_items_are_refused(wire: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        to_history_item(wire, "i")
    assert caught.value.param == param


@pytest.mark.parametrize("blank", ["", "   ", "\n"])
def test_commentary_without_words_is_refused_as_the_caller_would_wait_in_silence(blank: str) -> None:
    with pytest.raises(RequestError, match="content is"):
        taken("session.commentary.append", content=blank, delegation_id=None)
    assert taken("session.commentary.append", content="\n It rains.", delegation_id=None)
