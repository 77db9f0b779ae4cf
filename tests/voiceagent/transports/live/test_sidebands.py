"""Second connections to a Live session, and its requests over HTTP."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import numpy as np
import pytest
from live_server import LiveServer, LiveSocket, session
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent.conversation import notifications as notify
from voiceagent.transports.live.call import HUNG_UP

pytestmark = pytest.mark.timeout(30)
FRAME = np.full(480, 7, np.int16)
SOUND = base64.b64encode(FRAME.tobytes()).decode()


@asynccontextmanager
async def attached() -> AsyncIterator[tuple[LiveServer, LiveSocket, LiveSocket]]:
    """Yield a server, the client of a session, and a sideband that has its first event."""
    async with (
        session() as (server, socket),
        connect(f"{server.url}/{server.call.call_id}/attach") as websocket,
    ):
        sideband = LiveSocket(websocket)
        assert (await sideband.receive())["session"]["id"] == server.call.call_id
        yield server, socket, sideband


async def test_sideband_sees_the_events_of_the_session() -> None:
    async with attached() as (server, socket, sideband):
        server.call.client.notify(notify.NotifyTranscript("item_1", "Hello.", True))
        assert await sideband.receive() == await socket.receive()


async def test_sideband_has_both_sides_audio_and_the_agents_with_times() -> None:
    async with attached() as (server, socket, sideband):
        await socket.send("session.input_audio.mute")
        await sideband.until("session.input_audio.muted")
        await socket.send("session.input_audio.append", audio=SOUND)
        assert await sideband.receive() == {"type": "session.input_audio.append", "audio": SOUND}
        server.call.client.play("resp_1", FRAME)
        said = await sideband.receive()
        assert (said["delta"], said["end_ms"] - said["start_ms"]) == (SOUND, 20)


async def test_sideband_does_not_hear_private_input() -> None:
    async with attached() as (server, socket, sideband):
        server.call.private = True
        await socket.send("session.input_audio.append", audio=SOUND)
        heard = await sideband.receive()
        assert not any(base64.b64decode(heard["audio"]))
        server.call.private = False
        await socket.send("session.input_audio.append", audio=SOUND)
        assert await sideband.receive() == {"type": "session.input_audio.append", "audio": SOUND}


async def test_sideband_acts_on_the_session_and_errors_are_its_own() -> None:
    async with attached() as (_, socket, sideband):
        await sideband.send("session.input_audio.append", event_id="e1", audio=SOUND)
        assert (await sideband.receive())["error"]["client_event_id"] == "e1"
        await sideband.send("session.start", session={"model": "m"})
        assert (await sideband.receive())["error"]["code"] == "session_already_started"
        await sideband.send("session.input_audio.mute", event_id="e2")
        assert (await socket.receive())["client_event_id"] == "e2", "the client saw none of the errors"


async def test_sideband_gets_the_last_event_also_if_the_client_vanishes() -> None:
    async with attached() as (_, socket, sideband):
        socket.websocket.transport.abort()
        assert (await sideband.until("session.closed"))["reason"] == "connection_lost"
        with pytest.raises(ConnectionClosed):
            await sideband.receive()


async def test_session_goes_on_without_its_sideband() -> None:
    async with attached() as (_, socket, sideband):
        await sideband.websocket.close()
        await socket.send("session.input_audio.mute")
        assert (await socket.receive())["type"] == "session.input_audio.muted"


async def test_unknown_session_cannot_be_attached_to() -> None:
    async with session() as (server, _):
        for name in ("live_0", "sess_0"):
            with pytest.raises(InvalidStatus) as caught:
                await connect(f"{server.url}/{name}/attach")
            assert caught.value.response.status_code == 404


async def test_hangup_closes_the_session() -> None:
    async with session() as (server, socket), httpx.AsyncClient(trust_env=False) as http:
        url = server.url.replace("ws", "http", 1)
        assert (await http.post(f"{url}/{server.call.call_id}/hangup")).status_code == 200
        assert (await socket.receive())["reason"] == "close_requested"
        with pytest.raises(ConnectionClosed) as closed:
            await socket.receive()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, HUNG_UP)
        assert (await http.post(f"{url}/live_0/hangup")).status_code == 404


@pytest.mark.parametrize("action", ["accept", "reject", "refer"])
async def test_requests_about_sip_calls_are_refused_with_their_reason(action: str) -> None:
    async with session() as (server, _), httpx.AsyncClient(trust_env=False) as http:
        url = f"{server.url.replace('ws', 'http', 1)}/{server.call.call_id}/{action}"
        answer = await http.post(url, json={"target_uri": "tel:+14155550123"})
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "not_supported"
        assert "phone" in answer.json()["error"]["message"]


async def test_requests_that_are_not_served_say_what_is() -> None:
    async with session() as (server, _), httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(server.url.replace("ws", "http", 1) + "/live_0/pause", json={})
        assert answer.status_code == 404
        assert "/attach" in answer.json()["error"]["message"]
