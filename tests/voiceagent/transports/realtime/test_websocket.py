"""The WebSocket end on a real server: handshake, errors that do not end a call, and every way a call ends."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from typing import Any

import numpy as np
import pytest
from openai_types import client_event, proved
from realtime_server import MAX_MESSAGE_BYTES, serving
from websocket_waits import close_code, soon
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from voiceagent.access.auth import ApiKeys
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import LatencyBudget, TurnLedger
from voiceagent.session.call import CallRefused

FRAME = np.zeros(480, np.int16)
FRAMES = 600  # twice what a connection takes at once
SOUND = base64.b64encode(FRAME.tobytes()).decode()
APPEND = client_event(type="input_audio_buffer.append", audio=SOUND)


async def received(websocket: ClientConnection) -> dict[str, Any]:
    return proved(json.loads(await soon(websocket.recv())))


# ---- the handshake


async def test_a_call_begins_with_its_session() -> None:
    async with serving() as server, connect(f"{server.url}?model=some-model") as websocket:
        event = await received(websocket)
        assert event["type"] == "session.created"
        assert event["session"]["id"] == server.call.call_id
        assert server.call.model == "some-model"


async def test_the_realtime_subprotocol_is_answered_where_it_is_offered() -> None:
    offered = [Subprotocol("realtime"), Subprotocol("openai-insecure-api-key.k1")]
    async with serving() as server:
        async with connect(server.url, subprotocols=offered) as websocket:
            assert websocket.subprotocol == "realtime"
        async with connect(server.url) as websocket:
            assert websocket.subprotocol is None


@pytest.mark.parametrize(
    "options",
    [
        {"additional_headers": {"OpenAI-Beta": "realtime=v1"}},
        {"additional_headers": {"OpenAI-Beta": "assistants=v2, realtime=v1"}},
        {"subprotocols": ["realtime", "openai-beta.realtime-v1"]},
    ],
)
async def test_the_beta_is_refused_in_an_event_that_says_so(options: dict[str, Any]) -> None:
    async with serving() as server, connect(server.url, **options) as websocket:
        event = await received(websocket)
        assert (event["type"], event["error"]["code"]) == ("error", "beta_api_shape_disabled")
        assert await close_code(websocket) == (4000, "beta_api_shape_disabled")
        assert not server.calls


@pytest.mark.parametrize(
    "options",
    [
        {"additional_headers": {"Authorization": "Bearer k1"}},
        {"subprotocols": ["realtime", "openai-insecure-api-key.k1"]},
    ],
)
async def test_a_key_is_taken_from_the_header_or_the_subprotocol(options: dict[str, Any]) -> None:
    async with serving(ApiKeys(frozenset({"k1"}))) as server, connect(server.url, **options) as websocket:
        assert (await received(websocket))["type"] == "session.created"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer k2"}])
async def test_a_wrong_key_is_refused_before_there_is_a_call(headers: dict[str, str]) -> None:
    async with serving(ApiKeys(frozenset({"k1"}))) as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(server.url, additional_headers=headers)
        assert caught.value.response.status_code == 401
        assert json.loads(caught.value.response.body)["error"]["code"] == "invalid_api_key"
        assert not server.calls


async def test_without_keys_the_page_of_another_site_is_refused() -> None:
    async with serving() as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(server.url, origin=Origin("https://elsewhere.example"))
        assert caught.value.response.status_code == 403
        assert "elsewhere.example" in caught.value.response.body.decode()


async def test_without_keys_a_page_of_this_server_may_call() -> None:
    async with serving() as server:
        own = Origin(server.url.replace("ws://", "http://").removesuffix("/v1/realtime"))
        async with connect(server.url, origin=own) as websocket:
            assert (await received(websocket))["type"] == "session.created"


async def test_a_full_server_says_so_in_the_handshake() -> None:
    def full() -> dict[str, Any]:
        raise CallRefused("20 calls are running; at most 20 are taken")

    async with serving(prepare=full) as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(server.url)
        assert caught.value.response.status_code == 503
        assert "at most 20" in json.loads(caught.value.response.body)["error"]["message"]


@pytest.mark.parametrize(("query", "status"), [("intent=translation", 400), ("call_id=rtc_1", 404)])
async def test_an_unknown_intent_or_call_is_refused(query: str, status: int) -> None:
    async with serving() as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(f"{server.url}?{query}")
        assert caught.value.response.status_code == status
        assert not server.calls


@pytest.mark.parametrize("given", ["intent", "secret"])
async def test_a_call_transcribes_by_its_intent_or_by_its_secret(given: str) -> None:
    async with serving(ApiKeys(frozenset({"sk-1"}))) as server:
        key, query = "sk-1", "?intent=transcription"
        if given == "secret":
            key, query = server.admission.new_secret({"type": "transcription"}, 60).value, ""
        headers = {"authorization": f"Bearer {key}"}
        async with connect(f"{server.url}{query}", additional_headers=headers) as websocket:
            session = json.loads(await websocket.recv())["session"]
            if given == "secret":  # the secret's session is applied before the call begins
                session = json.loads(await websocket.recv())["session"]
        assert session["type"] == "transcription"


# ---- a call


async def test_requests_reach_the_call_and_its_notices_the_client() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        update = {"type": "realtime", "instructions": "Be kind."}
        await websocket.send(client_event(type="session.update", session=update))
        event = await received(websocket)
        assert event["type"] == "session.updated"
        assert event["session"]["instructions"] == "Be kind."
        await websocket.send(client_event(type="response.create"))
        await soon(server.call.until(lambda call: len(call.requests) == 2))
        assert isinstance(server.call.requests[-1], ev.ResponseRequested)


async def test_sound_reaches_the_call_in_order() -> None:
    async with serving() as server, connect(server.url) as websocket:
        for level in range(20):
            sound = base64.b64encode(np.full(480, level, np.int16).tobytes()).decode()
            await websocket.send(client_event(type="input_audio_buffer.append", audio=sound))
        await soon(server.call.until(lambda call: len(call.heard) == 20))
        assert [int(samples[0]) for samples in server.call.heard] == list(range(20))


async def test_the_agents_sound_reaches_the_client_among_its_words() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hi."))
        client.play("resp_1", FRAME)
        client.notify(notify.NotifyResponseEnded("resp_1", "completed"))
        kinds = [(await received(websocket))["type"] for _ in range(12)]
        assert kinds[5] == "response.output_audio.delta"
        assert kinds[-1] == "response.done"


async def test_sound_that_a_connection_could_not_take_yet_can_be_taken_back() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hi."))
        for _ in range(FRAMES):
            client.play("resp_1", FRAME)
        client.clear()  # nothing was awaited: what is more than the connection's buffer still waits here
        client.notify(notify.NotifyResponseEnded("resp_1", "cancelled", "turn_detected"))
        kinds: list[str] = []
        while "response.done" not in kinds:
            kinds.append((await received(websocket))["type"])
        assert kinds.count("response.output_audio.delta") < FRAMES


async def test_a_turns_latency_is_sent_when_the_call_reports_it() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        server.call.client.report(TurnLedger("item_1").report(LatencyBudget(), "completed"))
        assert json.loads(await soon(websocket.recv()))["type"] == "voiceagent.latency"


# ---- errors that do not end a call


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        ("hello", "invalid_json", None),
        (b"\0\1\2\3", "invalid_json", None),
        ('{"type":"fly","event_id":"e1"}', "invalid_value", "type"),
        ('{"type":"input_audio_buffer.append","event_id":"e1"}', "missing_required_parameter", "audio"),
        ('{"type":"input_audio_buffer.append","audio":"AAAA","event_id":"e1"}', "invalid_value", "audio"),
    ],
)
async def test_a_bad_message_is_answered_and_the_call_goes_on(
    message: str | bytes, code: str, param: str | None
) -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        await websocket.send(message)
        error = (await received(websocket))["error"]
        assert (error["code"], error["param"]) == (code, param)
        assert error["event_id"] == ("e1" if param else None)
        await websocket.send(APPEND)
        await soon(server.call.until(lambda call: len(call.heard) == 1))


async def test_an_mcp_server_that_is_refused_is_told_with_the_clients_own_id_of_its_event() -> None:
    mcp = {
        "type": "mcp",
        "server_label": "crm",
        "server_url": "https://crm.example",
        "require_approval": "never",
    }
    session = {"type": "realtime", "tools": [mcp]}
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        server.call.refusal = "it is not among them"
        await websocket.send(client_event(type="session.update", event_id="evt_1", session=session))
        error = (await received(websocket))["error"]
        assert (error["param"], error["event_id"]) == ("session.tools", "evt_1")


async def test_too_much_sound_is_reported_once_and_what_was_taken_is_kept() -> None:
    async with serving(prepare=lambda: {"room_samples": 960}) as server, connect(server.url) as websocket:
        await received(websocket)
        for _ in range(5):
            await websocket.send(APPEND)
        await websocket.send(client_event(type="input_audio_buffer.commit"))
        error = (await received(websocket))["error"]
        assert (error["code"], error["param"]) == ("input_audio_buffer_overflow", "audio")
        await soon(server.call.until(lambda call: bool(call.requests)))
        assert len(server.call.heard) == 2
        server.call.client.notify(notify.NotifyInputCleared())
        assert (await received(websocket))["type"] == "input_audio_buffer.cleared", "no second error"


async def test_messages_that_come_together_are_taken_in_their_order() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        ids = [f"item_{number}" for number in range(100)]
        for item_id in ids:  # nothing is awaited for: they arrive in a few segments
            websocket.protocol.send_text(
                json.dumps({"type": "conversation.item.delete", "item_id": item_id}).encode()
            )
        websocket.send_data()
        await soon(server.call.until(lambda call: len(call.requests) == len(ids)))
        assert server.call.requests == [ev.ItemDeleted(item_id) for item_id in ids]


async def test_a_fault_of_the_server_ends_the_call() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    async with serving(prepare=lambda: {"answer": fail}) as server, connect(server.url) as websocket:
        await received(websocket)
        await websocket.send(client_event(type="response.cancel"))
        assert await close_code(websocket) == (1011, "the server failed")


async def test_a_second_flood_is_reported_again() -> None:
    async with serving(prepare=lambda: {"room_samples": 480}) as server, connect(server.url) as websocket:
        await received(websocket)
        for _ in range(2):
            await websocket.send(APPEND)
            await websocket.send(APPEND)
            assert (await received(websocket))["error"]["code"] == "input_audio_buffer_overflow"
            server.call.heard.clear()


# ---- how a call ends


async def test_a_client_that_hangs_up_ends_the_call() -> None:
    async with serving() as server:
        async with connect(server.url) as websocket:
            await received(websocket)
        await soon(server.call.gone.wait())
        assert server.call.closed == "the client left (1000)"


async def test_a_client_that_vanishes_ends_the_call() -> None:
    async with serving() as server:
        websocket = await connect(server.url)
        await received(websocket)
        websocket.transport.abort()
        await soon(server.call.gone.wait())
        assert server.call.closed is not None


async def test_a_message_over_the_limit_closes_with_1009() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await websocket.send("x" * (MAX_MESSAGE_BYTES + 1))
        code, reason = await close_code(websocket)
        assert code == 1009
        assert str(MAX_MESSAGE_BYTES) in reason
        await soon(server.call.gone.wait())


async def test_a_call_that_ends_itself_sends_what_is_left() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        server.call.client.notify(notify.NotifyInputCleared())
        server.call.over.set()
        assert (await received(websocket))["type"] == "input_audio_buffer.cleared"
        assert await close_code(websocket) == (1011, "the call ended on the server")
        await soon(server.call.gone.wait())


async def test_an_agent_that_hangs_up_has_ended_the_call_as_it_should() -> None:
    async with serving() as server, connect(server.url) as websocket:
        await received(websocket)
        server.call.hung_up = "the agent hung up"
        server.call.over.set()
        assert await close_code(websocket) == (1000, "the agent hung up")
        await soon(server.call.gone.wait())
        assert server.call.closed == "the agent hung up"


async def test_a_fault_of_the_call_closes_the_connection_and_the_call() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    async with serving(prepare=lambda: {"answer": fail}) as server, connect(server.url) as websocket:
        await received(websocket)
        await websocket.send(client_event(type="response.create"))
        assert await close_code(websocket) == (1011, "the server failed")
        assert server.call.closed == "the server failed"


class _Unread:
    """A client that shakes hands and then does not read. Its socket takes little before it is full."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self.address = ("127.0.0.1", port)

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, self.address)
        request = (
            "GET /v1/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        await loop.sock_sendall(self.socket, request.encode())
        answer = await loop.sock_recv(self.socket, 12)
        assert answer == b"HTTP/1.1 101"

    async def read_until(self, end: bytes) -> None:
        """Read what was sent, up to and with `end`. Raises EOFError where it does not come."""
        loop, data = asyncio.get_running_loop(), b""
        while not data.endswith(end):
            piece = await loop.sock_recv(self.socket, 1 << 20)
            if not piece:
                raise EOFError(data[-200:])
            data = data[-200:] + piece


async def _flood(call: Any) -> None:
    call.client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
    call.client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hi."))
    while not call.gone.is_set():
        call.client.play("resp_1", FRAME)
        await asyncio.sleep(0)


async def test_a_client_that_does_not_read_is_closed_with_1008() -> None:
    async with serving() as server:
        client = _Unread(server.port)
        await client.connect()
        await soon(_flood(server.call))
        assert server.call.closed == "the client does not read"
        await soon(client.read_until((1008).to_bytes(2, "big") + b"the client does not read"))
        client.socket.close()


async def test_a_client_that_never_reads_again_holds_up_nobody() -> None:
    async with serving() as server:
        client = _Unread(server.port)
        await client.connect()
        flood = asyncio.create_task(_flood(server.call))
        async with connect(server.url) as other:
            await received(other)
            await soon(flood)
            await other.send(APPEND)
            await soon(server.call.until(lambda call: len(call.heard) == 1))
        client.socket.close()
