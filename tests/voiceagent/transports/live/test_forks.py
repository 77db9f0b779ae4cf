"""Forks of stored sessions over WebSocket and WebRTC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from call_settings import call_settings
from live_server import LiveServer, LiveSocket, serving
from rtc_caller import LiveRtcCaller
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from audio.pcm import AudioFormat
from llmcore.engine import Tool, ToolCall
from voiceagent.access.auth import ApiKeys
from voiceagent.access.requester import NotAdmitted
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.live.protocol.settings import DELEGATE
from voiceagent.transports.live.sessions import Stored

pytestmark = pytest.mark.timeout(60)
WEATHER = Tool("weather", "Tells the weather.", {"type": "object", "properties": {}})
ITEMS: tuple[Item, ...] = (
    MessageItem("item_1", "user", "How is the weather?", spoken=True),
    ToolCallItem("item_2", ToolCall("call_1", "weather", "{}")),
    ToolOutputItem("item_3", "call_1", "rain"),
    MessageItem("item_4", "assistant", "It rains", spoken=True, status="incomplete"),
)


def stored(tool: Tool = WEATHER) -> CallSettings:
    return replace(call_settings(instructions="Be brief."), model="m", voice="marin", tools=(tool,))


@asynccontextmanager
async def forking(
    settings: CallSettings, **session: Any
) -> AsyncIterator[tuple[LiveServer, LiveSocket, dict[str, Any]]]:
    """Yield a server, a client that asked for a fork of a stored session, and the first event."""
    async with serving() as server:
        server.stored["live_1"] = Stored(settings, ITEMS)
        async with connect(f"{server.url}/live_1/fork") as websocket:
            socket = LiveSocket(websocket)
            await socket.send("session.start", event_id="e1", session=session)
            yield server, socket, await socket.receive()


def created(server: LiveServer) -> list[Item]:
    return [request.item for request in server.call.requests if isinstance(request, ev.ItemCreated)]


async def test_fork_inherits_conversation_model_voice_instructions_and_tools() -> None:
    async with forking(stored()) as (server, _, started):
        shown = started["session"]
        assert shown["id"] == server.call.call_id != "live_1"
        assert (shown["model"], shown["instructions"], shown["store"]) == ("m", "Be brief.", True)
        assert shown["audio"]["output"]["voice"] == "marin"
        assert server.call.settings.tools == (WEATHER,)
        assert server.call.settings.instructions == "Be brief."
        assert tuple(created(server)) == ITEMS
        assert not server.call.greeted


async def test_fork_takes_its_own_format_backend_and_storage() -> None:
    backend = {"type": "responses", "responses": {"model": "gpt-5", "tools": [], "max_output_tokens": 50}}
    audio = {"format": {"type": "audio/pcmu"}}
    async with forking(stored(), audio=audio, delegation=backend, store=False) as (server, _, started):
        assert started["client_event_id"] == "e1"
        assert started["session"]["store"] is False
        assert not server.call.stored
        assert started["session"]["delegation"]["responses"]["model"] == "gpt-5"
        settings = server.call.settings
        assert (settings.input_format, settings.tools) == (AudioFormat.PCMU, ())
        assert settings.max_output_tokens == 50


async def test_fork_of_a_session_of_an_earlier_version_delegates_to_the_client_as_now() -> None:
    earlier = replace(DELEGATE, takes_unknown_calls=False)
    async with forking(stored(earlier)) as (server, _, _):
        (tool,) = server.call.settings.tools
        assert tool.takes_unknown_calls


async def test_fork_of_a_session_that_delegates_to_the_client_cannot_change_that() -> None:
    async with forking(stored(DELEGATE)) as (server, _, started):
        assert started["session"]["delegation"]["type"] == "client"
        assert server.call.settings.tools == (DELEGATE,)
    async with forking(stored(DELEGATE), delegation={"type": "responses"}) as (_, socket, error):
        assert (error["error"]["param"], error["client_event_id"]) == ("session.delegation.type", "e1")
        await socket.send("session.start", session={})
        await socket.until("session.started")


@pytest.mark.parametrize("field", ["model", "instructions", "input"])
async def test_inherited_fields_cannot_be_given(field: str) -> None:
    async with forking(stored(), **{field: "m"}) as (server, _, error):
        assert error["error"]["param"] == f"session.{field}"
        assert not server.calls


async def test_unknown_session_cannot_be_forked() -> None:
    async with serving() as server, httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(InvalidStatus) as caught:
            await connect(f"{server.url}/live_9/fork")
        assert caught.value.response.status_code == 404
        body = {"transport": {"type": "webrtc", "sdp": "v=0"}}
        answer = await http.post(server.url.replace("ws", "http", 1) + "/live_9/fork", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "session_not_found")


async def test_backend_with_too_many_tools_is_refused() -> None:
    tools = [{"type": "function", "name": f"tool_{number}", "parameters": {}} for number in range(129)]
    backend = {"type": "responses", "responses": {"model": "m", "tools": tools}}
    param = "session.delegation.responses.tools"
    async with forking(stored(), delegation=backend) as (server, _, error):
        assert (error["error"]["code"], error["error"]["param"]) == ("limit_exceeded", param)
        async with httpx.AsyncClient(trust_env=False) as http:
            body = {"transport": {"type": "webrtc", "sdp": "v=0"}, "session": {"delegation": backend}}
            url = server.url.replace("ws", "http", 1)
            fork = await http.post(f"{url}/live_1/fork", json=body)
            body["session"]["model"] = "m"
            session = await http.post(url, json=body)
        found = [(answer.status_code, answer.json()["error"]["param"]) for answer in (fork, session)]
        assert found == [(400, param)] * 2


async def test_client_secrets_fork_nothing() -> None:
    async with serving(ApiKeys(frozenset({"owner"}))) as server:
        server.stored["live_1"] = Stored(stored(), ITEMS)
        secret = server.admission.new_secret({}, 60).value
        for key, status in ((secret, 401), ("owner", 101)):
            headers = {"authorization": f"Bearer {key}"}
            try:
                async with connect(f"{server.url}/live_1/fork", additional_headers=headers):
                    found = 101
            except InvalidStatus as refused:
                found = refused.response.status_code
            assert found == status


async def test_client_secrets_are_no_wrong_keys() -> None:
    async with serving(ApiKeys(frozenset({"owner"}))) as server:
        secret = server.admission.new_secret({}, 60).value
        for _ in range(30):
            with pytest.raises(NotAdmitted) as caught:
                server.admission.admit_reader({"authorization": f"Bearer {secret}"}, "192.0.2.1", "")
            assert caught.value.status == 401, "no address is blocked by the 429 of wrong keys"


async def test_forks_of_forks_cannot_add_instructions_without_limit() -> None:
    limit = USUAL_LIMITS.max_instructions_characters
    backend = {"type": "responses", "responses": {"instructions": "b" * 100}}
    long = replace(stored(), instructions="a" * (limit - 50))
    async with forking(long, delegation=backend) as (_, socket, error):
        assert error["error"]["code"] == "limit_exceeded"
        await socket.send("session.start", session={})
        await socket.until("session.started")


@pytest.mark.parametrize("permissions", [{}, {"allowed_client_events": ["session.close"]}])
async def test_fork_over_webrtc_continues_the_conversation(permissions: dict[str, Any]) -> None:
    async with serving() as server, httpx.AsyncClient(trust_env=False) as http:
        server.stored["live_1"] = Stored(stored(), ITEMS)
        caller = LiveRtcCaller(http)
        url = f"{server.url.replace('ws', 'http', 1)}/live_1/fork"
        session = {"client": {"data_channel": permissions}} if permissions else {}
        answer = await http.post(url, json={"session": session} | await caller.transport())
        assert answer.status_code == 201, answer.text
        assert answer.json()["session"]["id"] == server.call.call_id
        await caller.accept(answer.json()["transport"]["sdp"])
        assert tuple(created(server)) == ITEMS
        if permissions:
            assert "client events: session.close;" in (await caller.until("info"))["message"]
        await caller.peer.close()
        if caller.listening is not None:
            caller.listening.cancel()
            await asyncio.gather(caller.listening, return_exceptions=True)
        await server.call.gone.wait()
