"""Ids that clients of the Live API make up, repeat, send late, or take from other sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from attacked_server import AttackedServer
from attacker import PATIENCE_S
from websockets.asyncio.client import ClientConnection

pytestmark = pytest.mark.asyncio(loop_scope="session")

SESSIONS = "/v1/live/sessions"
BACKEND = {"type": "responses", "responses": {"model": "m"}}
HUGE = "x" * 100_000
ODD = ["", " ", "delegation_1", "resp_1", "null", "../a", "%00", "\u202e", "🦜", HUGE]


@asynccontextmanager
async def session(server: AttackedServer, **config: Any) -> AsyncIterator[ClientConnection]:
    """Yield a connection whose session has started."""
    async with server.call(SESSIONS) as connection:
        await connection.send(json.dumps({"type": "session.start", "session": {"model": "m"} | config}))
        assert json.loads(await connection.recv())["type"] == "session.started"
        yield connection


async def answers(connection: ClientConnection, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """Send events. Return what the server sends until it has carried them all out; each answer is short."""
    for event in (*events, {"type": "session.update", "session": {}, "event_id": "last"}):
        await connection.send(json.dumps(event))
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        while not found or found[-1].get("client_event_id") != "last":
            text = await connection.recv()
            assert len(text) < 4_000, text[:200]
            found.append(json.loads(text))
    return found[:-1]


def codes(events: list[dict[str, Any]]) -> list[str]:
    return [event["error"]["code"] if event["type"] == "error" else event["type"] for event in events]


def output(call_id: str) -> dict[str, Any]:
    item = {"type": "function_call_output", "call_id": call_id, "output": "sunny"}
    return {"type": "response.item.create", "item": item}


@pytest.mark.parametrize("kind", ["instructions", "thinking", "commentary"])
async def test_context_for_a_delegation_that_does_not_exist_is_refused(server: AttackedServer, kind: str):
    events = [
        {"type": f"session.{kind}.append", "content": "a", "delegation_id": delegation_id}
        for delegation_id in ODD
    ]
    async with session(server) as connection:
        assert codes(await answers(connection, *events)) == ["delegation_not_found"] * len(ODD)


async def test_outputs_of_calls_that_do_not_exist_are_refused(server: AttackedServer):
    async with session(server, delegation=BACKEND) as connection:
        found = codes(await answers(connection, *(output(call_id) for call_id in ODD)))
        assert set(found) == {"function_call_not_found", "invalid_value"}
        assert len(found) == len(ODD)


async def test_event_ids_of_any_kind_are_returned_or_refused(server: AttackedServer):
    ids: list[Any] = ["", "\u202e", "🦜" * 100, "\x00", "last ", HUGE, 10**400, ["e"], {"e": 1}, True]
    events = [{"type": "session.input_audio.mute", "event_id": event_id} for event_id in ids]
    async with session(server) as connection:
        found = await answers(connection, *events)
    assert codes(found)[:5] == ["session.input_audio.muted"] * 5
    assert [event["client_event_id"] for event in found[:5]] == ids[:5]
    assert all(event["type"] == "error" for event in found[5:])
    assert len(found) == len(ids)


async def test_event_id_that_comes_twice_is_carried_out_twice(server: AttackedServer):
    """The API has no rule against it: an id only names the event in answers."""
    mute = {"type": "session.input_audio.mute", "event_id": "e1"}
    async with session(server) as connection:
        assert len(await answers(connection, mute, mute)) == 2


async def test_ids_of_the_history_may_be_equal(server: AttackedServer):
    item = {"role": "user", "id": "item_1", "content": [{"type": "input_text", "text": "a"}]}
    async with session(server, input=[item] * 3) as connection:
        assert not await answers(connection)


PATHS = ("attach", "fork", "content", "hangup", "accept", "reject", "refer")


@pytest.mark.parametrize("action", PATHS)
async def test_sessions_that_do_not_exist_have_no_actions(server: AttackedServer, action: str):
    base = f"http://{server.address}{SESSIONS}"
    method = "GET" if action in ("attach", "content") else "POST"
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        for session_id in ("live_0", "rtc_0", "x" * 3_000, "%00", "..%2f..%2fetc", "live_%0d%0aa", "🦜"):
            answer = await http.request(method, f"{base}/{session_id}/{action}", json={"a": 1})
            assert 400 <= answer.status_code < 500, (session_id[:20], answer.status_code)
            assert len(answer.content) < 2_000


@pytest.mark.parametrize("action", ["accept", "reject", "refer"])
async def test_session_of_a_client_has_no_phone_line(server: AttackedServer, action: str):
    async with server.call(SESSIONS) as connection:
        await connection.send(json.dumps({"type": "session.start", "session": {"model": "m"}}))
        session_id = json.loads(await connection.recv())["session"]["id"]
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
            answer = await http.post(f"http://{server.address}{SESSIONS}/{session_id}/{action}", json={})
        assert answer.json()["error"]["code"] == "not_supported"
        assert not await answers(connection), "the session goes on"


async def test_session_of_a_secret_replaces_the_one_of_a_request(server: AttackedServer):
    prescribed = {"type": "live", "model": "m", "client": {"data_channel": {"allowed_client_events": []}}}
    base = f"http://{server.address}"
    async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=PATIENCE_S) as http:
        made = await http.post("/v1/realtime/client_secrets", json={"session": prescribed})
        assert made.status_code == 200, made.text
        headers = {"authorization": f"Bearer {made.json()['value']}"}
        body = {"session": {"model": "other", "client": None}, "transport": {"type": "webrtc", "sdp": "v=0"}}
        answer = await http.post(SESSIONS, json=body, headers=headers)
        assert answer.status_code == 400
