"""Live sessions whose connection is lost, and whose client connects again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from live_server import LiveServer, serving
from realtime_server import serving as serving_realtime
from websocket_waits import received
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from voiceagent.access.access_control import CallAsked
from voiceagent.access.auth import ApiKeys
from voiceagent.conversation import notifications as notify
from voiceagent.transports.realtime.sidebands.messages import at_another_gateway

START = json.dumps({"type": "session.start", "session": {"model": "gpt-live-1"}})
FRAME = np.ones(480, np.int16)


async def lose(server: LiveServer, websocket: ClientConnection) -> None:
    """Cut the connection, and wait until the server has noticed."""
    websocket.transport.abort()
    await asyncio.wait_for(server.call.until(lambda call: call.pauses[-1:] == [True]), 20)


@asynccontextmanager
async def session(query: str) -> AsyncIterator[tuple[LiveServer, ClientConnection, dict[str, Any]]]:
    """Yield a server, the connection of a session, and its `session.started`."""
    async with serving() as server, connect(f"{server.url}?{query}") as websocket:
        await websocket.send(START)
        yield server, websocket, await received(websocket)


def resumed(server: LiveServer, after: str = "") -> connect:
    return connect(f"{server.url}?session_id={server.call.call_id}&after={after}")


async def refusal(url: str, **headers: str) -> tuple[int, str]:
    """Return status and code with which a connection is refused."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(url, additional_headers=headers):
            pass
    assert caught.value.response.body is not None
    return caught.value.response.status_code, json.loads(caught.value.response.body)["error"]["code"]


async def test_client_that_connects_again_gets_what_it_missed_and_goes_on() -> None:
    async with session("resume_s=20") as (server, first, started):
        assert started["type"] == "session.started"
        await lose(server, first)
        server.call.client.notify(notify.NotifyError("one", "It broke.", None, None))
        async with resumed(server, started["event_id"]) as second:
            assert (await received(second))["error"]["code"] == "one"
            assert server.call.pauses == [True, False]
            await second.send('{"type":"session.input_audio.mute"}')
            assert (await received(second))["type"] == "session.input_audio.muted"
        await asyncio.wait_for(server.call.gone.wait(), 20)
    assert len(server.calls) == 1
    assert server.call.closed == "the client left (1000)"


async def test_audio_after_the_last_received_audio_is_sent_again() -> None:
    async with session("resume_s=20") as (server, first, _):
        for _ in range(3):
            server.call.client.play("", FRAME)
        before = [await received(first) for _ in range(3)]
        assert {event["type"] for event in before} == {"session.output_audio.delta"}
        await lose(server, first)
        async with resumed(server, before[0]["event_id"]) as second:
            assert [await received(second) for _ in range(2)] == before[1:]


async def test_audio_has_no_id_in_a_session_that_is_not_resumed() -> None:
    async with session("resume_s=0") as (server, websocket, _):
        server.call.client.play("", FRAME)
        assert (await received(websocket)).keys() == {"type", "delta"}


async def test_resumed_session_cannot_be_started_again() -> None:
    async with session("resume_s=20") as (server, first, _):
        await lose(server, first)
        async with resumed(server) as second:
            await second.send(START)
            assert (await received(second))["error"]["code"] == "session_already_started"


async def test_session_whose_client_does_not_come_back_in_time_ends() -> None:
    async with session("resume_s=0.05") as (server, first, _):
        await lose(server, first)
        await asyncio.wait_for(server.call.gone.wait(), 20)
        assert "did not come back in 0.05 s" in str(server.call.closed)


async def test_session_that_did_not_ask_for_it_ends_with_its_connection() -> None:
    async with session("") as (server, first, _):
        url = f"{server.url}?session_id={server.call.call_id}"
        assert await refusal(url) == (409, "not_resumable")
        first.transport.abort()
        await asyncio.wait_for(server.call.gone.wait(), 20)
        assert not server.call.pauses


async def test_wrong_requests_to_resume_are_refused_and_lose_nothing() -> None:
    key = {"Authorization": "Bearer k1"}
    async with (
        serving(ApiKeys(["k1"])) as server,
        connect(f"{server.url}?resume_s=20", additional_headers=key) as first,
    ):
        await first.send(START)
        await received(first)
        resume = f"{server.url}?session_id={server.call.call_id}"
        assert (await refusal(resume))[0] == 401
        assert await refusal(f"{resume}&after=event_9", **key) == (409, "events_not_kept")
        for unknown in ("live_0", "sess_0", "", "%00"):
            url = f"{server.url}?session_id={unknown}"
            assert await refusal(url, **key) == (404, "call_not_found")
        for wrong in ("31", "-1", "soon", "nan"):
            assert await refusal(f"{server.url}?resume_s={wrong}", **key) == (400, "invalid_value")
        server.call.client.notify(notify.NotifyError("one", "It broke.", None, None))
        assert (await received(first))["error"]["code"] == "one"


async def test_realtime_api_does_not_resume_a_live_session() -> None:
    async with serving_realtime() as server:
        assert await refusal(f"{server.url}?session_id=live_0") == (400, "invalid_value")


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (CallAsked("live_1"), "live/sessions/live_1/attach"),
        (CallAsked("live_1", "", "event_7"), "live/sessions?session_id=live_1&after=event_7"),
        (CallAsked("sess_1"), "realtime?call_id=sess_1"),
        (CallAsked("sess_1", "", ""), "realtime?session_id=sess_1&after="),
    ],
)
def test_call_of_another_gateway_is_redirected_to_what_was_asked(asked: CallAsked, path: str) -> None:
    assert at_another_gateway(asked, "https://two").location == f"wss://two/v1/{path}"
