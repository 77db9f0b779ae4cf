"""MCP on the wire: events and items by the types of the `openai` package, and what a client may ask for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from call_settings import call_settings
from call_world import CallWorld, of
from openai_types import client_event, proved
from response_order import ResponseOrder

from llmcore.engine import ToolCall, Usage
from voiceagent.calls.log.codec import Inline, dumps, encode
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.mcp import (
    NO_APPROVAL,
    Approval,
    ListedTool,
    McpError,
    McpServer,
    ToolFilter,
)
from voiceagent.conversation.notifications import Notification
from voiceagent.transports.realtime.protocol.decode import Decoder
from voiceagent.transports.realtime.protocol.encode import Encoder
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.shown_session import show_session

SCHEMA = {"type": "object", "properties": {"what": {"type": "string"}}}
LOOK = ListedTool("look", "Looks something up.", SCHEMA, read_only=True)
SERVER = {"type": "mcp", "server_label": "shop", "server_url": "https://shop.example/mcp"}


class WireCall:
    """A call whose client sends and gets events as JSON; each that it gets is proved."""

    def __init__(self) -> None:
        self.world = CallWorld(call_settings())
        self.events: list[dict[str, Any]] = []
        ids = count(1)
        self._decoder = Decoder(call_settings(), lambda prefix: f"{prefix}_w{next(ids)}")
        self._encoder = Encoder("sess_1", "conv_1")
        self._order = ResponseOrder()
        self.feed(ev.CallStarted())

    def send(self, **event: Any) -> list[dict[str, Any]]:
        """A client event; returns the server events."""
        request = self._decoder.decode(client_event(**event), self.world.conversation.settings)
        return self.feed(request)  # type: ignore[arg-type]

    def feed(self, event: ev.Event) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        for command in self.world.feed(event):
            if isinstance(command, Notification):
                sent += self._encoder.encode(command)
        for one in sent:
            self._order.take(proved(one))
        self.events += sent
        return sent

    def name_server(self, **fields: Any) -> list[dict[str, Any]]:
        """Send the name of a server, which lists its tools."""
        self.send(type="session.update", session={"type": "realtime", "tools": [SERVER | fields]})
        (command,) = of(do.ListMcpTools, self.world.commands)
        return self.feed(ev.McpListed(command.item_id, (LOOK,)))

    def model_calls(self) -> list[dict[str, Any]]:
        """A response that the client asks for calls the tool."""
        self.send(type="response.create", response={"output_modalities": ["text"]})
        response_id = self.world.response_id()
        called = ev.ToolCallsReady(response_id, (ToolCall("call_1", "look", '{"what":"tea"}'),))
        return self.feed(called) + self.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def decoded(session: dict[str, Any]) -> tuple[McpServer, ...]:
    text = json.dumps({"type": "session.update", "session": {"type": "realtime", **session}})
    request = Decoder(call_settings(), lambda prefix: prefix).decode(text, call_settings())
    assert isinstance(request, ev.SettingsChanged)
    return request.settings.mcp_servers


def test_a_server_is_listed_as_an_item_with_its_tools() -> None:
    call = WireCall()
    done = call.name_server()
    begun = ["session.updated", "conversation.item.added", "mcp_list_tools.in_progress"]
    assert kinds(call.events)[1:4] == begun
    assert kinds(done) == ["mcp_list_tools.completed", "conversation.item.done"]
    (tool,) = done[1]["item"]["tools"]
    assert (tool["name"], tool["input_schema"]) == ("look", SCHEMA)


def test_a_server_that_cannot_be_listed_is_told_with_the_reason() -> None:
    call = WireCall()
    call.send(type="session.update", session={"type": "realtime", "tools": [SERVER]})
    (command,) = of(do.ListMcpTools, call.world.commands)
    failed = call.feed(ev.McpListed(command.item_id, failure="it does not answer"))
    assert kinds(failed) == ["mcp_list_tools.failed", "error"]
    assert "'shop'" in failed[1]["error"]["message"]


def test_the_output_of_a_call_comes_when_its_response_is_over() -> None:
    call = WireCall()
    call.name_server(require_approval="never")
    assert kinds(call.model_calls()) == [
        "response.output_item.added",
        "conversation.item.added",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.in_progress",
        "response.done",
    ]
    ended = call.feed(ev.ToolFinished("call_1", "done", "4 in stock", reply=False))
    assert kinds(ended) == [
        "response.mcp_call.completed",
        "conversation.item.done",
        "response.output_item.done",
    ]
    item = ended[-1]["item"]
    assert (item["type"], item["server_label"], item["output"]) == ("mcp_call", "shop", "4 in stock")


@pytest.mark.parametrize(
    "error",
    [
        McpError("tool_execution_error", "sold out"),
        McpError("protocol_error", "what?", -32600),
        McpError("http_error", "it answered with HTTP 503", 503),
    ],
)
def test_a_call_that_fails_says_why(error: McpError) -> None:
    call = WireCall()
    call.name_server(require_approval="never")
    call.model_calls()
    ended = call.feed(ev.ToolFinished("call_1", "failed", error.message, error=error))
    assert kinds(ended)[0] == "response.mcp_call.failed"
    assert ended[-1]["item"]["error"]["message"] == error.message


@pytest.mark.parametrize(("approve", "outcome"), [(True, "in_progress"), (False, "failed")])
def test_the_client_approves_of_a_call_or_does_not(approve: bool, outcome: str) -> None:
    call = WireCall()
    call.name_server()
    asked = call.model_calls()
    request = next(event["item"] for event in asked if event["type"] == "conversation.item.done")
    assert (request["type"], request["name"]) == ("mcp_approval_request", "look")
    item = {
        "type": "mcp_approval_response",
        "id": "item_mine",
        "approval_request_id": request["id"],
        "approve": approve,
    }
    told = call.send(type="conversation.item.create", previous_item_id=request["id"], item=item)
    assert kinds(told)[:2] == ["conversation.item.added", "conversation.item.done"]
    assert f"response.mcp_call.{outcome}" in kinds(told)
    called = next(event["item"] for event in told if event["type"] == "response.output_item.added")
    assert called["approval_request_id"] == request["id"]


def test_mcp_items_can_be_retrieved() -> None:
    call = WireCall()
    call.name_server(require_approval="never")
    call.model_calls()
    items = [event["item"] for event in call.events if event["type"] == "conversation.item.added"]
    for item in items:
        (told,) = call.send(type="conversation.item.retrieve", item_id=item["id"])
        assert told["item"]["type"] == item["type"]


def test_a_session_shows_its_servers_without_their_secrets() -> None:
    call = WireCall()
    call.name_server(headers={"X-Key": "s3cret"}, authorization="t0ken", allowed_tools=["look"])
    (updated,) = [event for event in call.events if event["type"] == "session.updated"]
    (shown,) = updated["session"]["tools"]
    assert shown["allowed_tools"] == {"tool_names": ["look"]}
    assert "s3cret" not in json.dumps(call.events)
    assert "t0ken" not in json.dumps(call.events)


def test_secrets_of_servers_are_neither_logged_nor_printed() -> None:
    (server,) = decoded({"tools": [SERVER | {"headers": {"X-Key": "s3cret"}, "authorization": "t0ken"}]})
    assert dict(server.headers) == {"X-Key": "s3cret", "Authorization": "Bearer t0ken"}
    changed = ev.SettingsChanged(replace(call_settings(), mcp_servers=(server,)))
    for told in (dumps(encode(changed, Inline())), repr(changed)):
        assert "shop.example" in told
        assert "s3cret" not in told
        assert "t0ken" not in told


@pytest.mark.parametrize(
    ("given", "approval"),
    [
        (None, Approval()),
        ("always", Approval()),
        ("never", NO_APPROVAL),
        ({"never": {"tool_names": ["look"]}}, Approval(never=ToolFilter(("look",)))),
        ({"always": {"read_only": False}}, Approval(always=ToolFilter(read_only=False))),
    ],
)
def test_what_needs_approval_is_read_and_shown(given: object, approval: Approval) -> None:
    (server,) = decoded({"tools": [SERVER | {"require_approval": given}]})
    assert server.approval == approval
    (shown,) = show_session("sess_1", call_settings(mcp_servers=(server,)))["tools"]
    assert shown["require_approval"] == ("always" if given is None else given)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"connector_id": "connector_gmail"}, "there is no such field"),
        ({"server_label": "two words"}, "server_label"),
        ({"headers": {"Host": "bank.example"}}, "none that a client may set"),
        ({"headers": {"mcp-session-id": "1"}}, "none that a client may set"),
        ({"headers": {"X-Key": "a\r\nHost: b"}}, "beyond ASCII"),
        ({"headers": {f"X-{number}": "1" for number in range(17)}}, "at most 16"),
        ({"headers": {"X-Key": "x" * 9_000}}, "at most 8192"),
        ({"headers": {"authorization": "1"}, "authorization": "2"}, "one of them"),
    ],
)
def test_what_a_client_may_not_set_is_refused_by_name(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words) as refused:
        decoded({"tools": [SERVER | fields]})
    assert (refused.value.param or "").startswith("session.tools[0]")


def test_two_servers_of_one_label_are_refused() -> None:
    with pytest.raises(RequestError, match="labels must differ"):
        decoded({"tools": [SERVER, SERVER]})


def test_a_response_outside_of_the_conversation_has_no_servers() -> None:
    response = {"conversation": "none", "tools": [SERVER]}
    text = json.dumps({"type": "response.create", "response": response})
    with pytest.raises(RequestError, match=r"response\.tools"):
        Decoder(call_settings(), lambda prefix: prefix).decode(text, call_settings())
