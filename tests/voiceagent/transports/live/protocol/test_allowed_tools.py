"""Tool choice "allowed_tools": the backend may call these of its tools only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_settings import call_settings
from live_types import CLIENT_EVENT

from voiceagent.conversation.mcp import ToolFilter
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.live.protocol.decode import decode
from voiceagent.transports.live.protocol.settings import live_settings, show_session, to_call_settings
from voiceagent.transports.realtime.protocol.errors import RequestError

CHOICE = "session.delegation.responses.tool_choice"
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True},
    {"type": "function", "name": "book", "parameters": {"type": "object"}, "strict": True},
    {
        "type": "mcp",
        "server_label": "shop",
        "server_url": "https://shop.test",
        "allowed_tools": ["a", "b"],
    },
    {"type": "mcp", "server_label": "bank", "server_url": "https://bank.test"},
]


def started(choice: Any) -> tuple[CallSettings, dict[str, Any]]:
    """Return the settings of a session with this tool choice, and the session as it is shown."""
    backend = {"model": "m", "tools": TOOLS, "tool_choice": choice}
    session = {"model": "m", "delegation": {"type": "responses", "responses": backend}}
    text = json.dumps({"type": "session.start", "session": session})
    CLIENT_EVENT.validate_json(text)
    live = live_settings("live_1", 0, decode(text, USUAL_LIMITS), call_settings())  # type: ignore[arg-type]
    settings = to_call_settings(live, call_settings())
    return settings, show_session(live, settings)


def allowed(*tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "allowed_tools", "tools": list(tools)} | fields


def test_functions_that_are_not_allowed_are_not_offered():
    settings, _ = started(allowed({"type": "function", "name": "book"}))
    assert [tool.name for tool in settings.tools] == ["book"]
    assert settings.mcp_servers == ()
    assert settings.tool_choice == "auto"


@pytest.mark.parametrize("mode", ["none", "auto", "required"])
def test_mode_is_the_choice_among_the_allowed(mode: str):
    settings, _ = started(allowed({"type": "function", "name": "book"}, mode=mode))
    assert settings.tool_choice == mode


def test_server_offers_its_named_tools_alone_and_never_those_it_excludes():
    named = [{"type": "mcp", "server_label": "shop", "name": name} for name in ("b", "c")]
    bank = [{"type": "mcp", "server_label": "bank", "name": name} for name in ("y", "x")]
    settings, _ = started(allowed(*named, *bank))
    assert [(server.label, server.allowed) for server in settings.mcp_servers] == [
        ("shop", ToolFilter(("b",))),
        ("bank", ToolFilter(("x", "y"))),
    ]
    assert settings.tools == ()


def test_session_shows_all_tools_and_the_choice_as_sent():
    choice = allowed({"type": "function", "name": "book"}, mode="required")
    _, shown = started(choice)
    responses = shown["delegation"]["responses"]
    assert responses["tool_choice"] == choice
    assert [tool.get("name") or tool["server_label"] for tool in responses["tools"]] == [
        "weather", "book", "shop", "bank",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "tool, param",
    [
        ({"type": "function", "name": "fly"}, f"{CHOICE}.tools[0].name"),
        ({"type": "mcp", "server_label": "zoo", "name": "a"}, f"{CHOICE}.tools[0].server_label"),
        ({"type": "web_search"}, f"{CHOICE}.tools[0].type"),
    ],
)
def test_tool_that_the_backend_does_not_have_is_refused_by_name(tool: dict[str, Any], param: str):
    with pytest.raises(RequestError) as refused:
        started(allowed(tool))
    assert refused.value.param == param
