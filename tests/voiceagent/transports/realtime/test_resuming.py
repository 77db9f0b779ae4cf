"""Calls over a WebSocket whose connection is lost, and whose client connects again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from realtime_server import RealtimeServer, nowhere, serving
from websocket_waits import received
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent.access.access_control import CallAsked
from voiceagent.access.auth import ApiKeys
from voiceagent.conversation import notifications as notify
from voiceagent.transports.realtime import resuming
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.relay import Accepted, Closed, FromClient


def fail(server: RealtimeServer, *codes: str) -> None:
    """Send the client an error with each of these codes."""
    for code in codes:
        server.call.client.notify(notify.NotifyError(code, "It broke.", None, None))


async def lose(server: RealtimeServer, websocket: ClientConnection) -> None:
    """Cut the connection, and wait until the server has noticed."""
    websocket.transport.abort()
    await asyncio.wait_for(server.call.until(lambda call: call.pauses[-1:] == [True]), 20)


def resumed(server: RealtimeServer, after: str = "") -> connect:
    return connect(f"{server.url}?session_id={server.call.call_id}&after={after}")


async def test_a_client_that_connects_again_gets_what_it_missed_and_goes_on() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        created = await received(first)
        fail(server, "one", "two")
        await lose(server, first)
        fail(server, "three")
        async with resumed(server, created["event_id"]) as second:
            codes = [(await received(second))["error"]["code"] for _ in range(3)]
            assert codes == ["one", "two", "three"]
            assert server.call.pauses == [True, False]
            await second.send('{"type":"input_audio_buffer.clear"}')
            await asyncio.wait_for(server.call.until(lambda call: len(call.requests) == 1), 20)
            fail(server, "four")
            assert (await received(second))["error"]["code"] == "four"
        await asyncio.wait_for(server.call.gone.wait(), 20)
    assert len(server.calls) == 1
    assert server.call.closed == "the client left (1000)"


async def test_a_client_that_names_no_event_gets_only_later_ones() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        await received(first)
        fail(server, "one")
        await received(first)
        await lose(server, first)
        fail(server, "two")
        async with resumed(server) as second:
            assert (await received(second))["error"]["code"] == "two"


async def test_a_client_may_resume_before_the_server_has_noticed_the_loss() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        created = await received(first)
        fail(server, "one")
        async with resumed(server, created["event_id"]) as second:
            assert (await received(second))["error"]["code"] == "one"
            fail(server, "two")
            assert (await received(second))["error"]["code"] == "two"
            with pytest.raises(ConnectionClosed) as caught:
                await asyncio.wait_for(first.recv(), 20)
                await asyncio.wait_for(first.recv(), 20)
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.reason == "the call was resumed on another connection"
            assert server.call.closed is None


async def test_a_call_can_be_resumed_again_and_again() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        last = (await received(first))["event_id"]
        await lose(server, first)
        for code in ("one", "two", "three"):
            async with resumed(server, last) as again:
                fail(server, code)
                event = await received(again)
                assert event["error"]["code"] == code
                last = event["event_id"]
                await lose(server, again)
        assert server.call.pauses == [True, False] * 3 + [True]


async def test_a_call_whose_client_does_not_come_back_in_time_ends() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=0.05") as first:
        await received(first)
        await lose(server, first)
        await asyncio.wait_for(server.call.gone.wait(), 20)
        assert server.call.closed is not None
        assert "did not come back in 0.05 s" in server.call.closed


async def test_a_call_that_did_not_ask_for_it_ends_with_its_connection() -> None:
    async with serving() as server, connect(server.url) as first:
        await received(first)
        assert await refusal(server, f"session_id={server.call.call_id}") == (409, "not_resumable")
        first.transport.abort()
        await asyncio.wait_for(server.call.gone.wait(), 20)


async def test_a_client_that_hangs_up_ends_the_call_at_once() -> None:
    async with serving() as server:
        async with connect(f"{server.url}?resume_s=20") as first:
            await received(first)
        await asyncio.wait_for(server.call.gone.wait(), 20)
        assert not server.call.pauses


async def refusal(server: RealtimeServer, query: str, **headers: str) -> tuple[int, str]:
    """Return status and code with which a connection is refused."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(f"{server.url}?{query}", additional_headers=headers):
            pass
    assert caught.value.response.body is not None
    return caught.value.response.status_code, json.loads(caught.value.response.body)["error"]["code"]


async def test_a_wrong_key_an_unknown_session_and_an_unknown_event_are_refused_and_lose_nothing() -> None:
    key = {"Authorization": "Bearer k1"}
    async with (
        serving(ApiKeys(["k1"])) as server,
        connect(f"{server.url}?resume_s=20", additional_headers=key) as first,
    ):
        await received(first)
        resume = f"session_id={server.call.call_id}"
        assert (await refusal(server, resume))[0] == 401
        assert await refusal(server, "session_id=sess_0", **key) == (404, "call_not_found")
        assert await refusal(server, f"{resume}&after=event_9", **key) == (409, "events_not_kept")
        assert await refusal(server, "resume_s=31", **key) == (400, "invalid_value")
        fail(server, "one")
        assert (await received(first))["error"]["code"] == "one"


async def test_events_that_are_no_longer_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "KEPT_BYTES", 500)
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        created = await received(first)
        fail(server, *map(str, range(10)))
        await lose(server, first)
        query = f"session_id={server.call.call_id}&after={created['event_id']}"
        assert await refusal(server, query) == (409, "events_not_kept")


@pytest.mark.parametrize("code", [1006, 1000])
async def test_a_call_of_another_process_is_resumed_and_may_be_lost_again_or_hung_up(code: int) -> None:
    sent: asyncio.Queue[FromClient] = asyncio.Queue()

    async def messages() -> AsyncIterator[FromClient]:
        while True:
            yield await sent.get()

    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        created = await received(first)
        await lose(server, first)
        fail(server, "one")
        sidebands = Sidebands(server.find, server.admission, nowhere)
        asked = CallAsked(server.call.call_id, "", created["event_id"])
        async with aclosing(sidebands.serve_stream(asked, messages())) as values:
            assert await anext(values) == Accepted()
            event = await anext(values)
            assert isinstance(event, str) and json.loads(event)["error"]["code"] == "one"
            await sent.put('{"type":"input_audio_buffer.clear"}')
            await asyncio.wait_for(server.call.until(lambda call: len(call.requests) == 1), 20)
            await sent.put(Closed(code, "gone"))
            assert [value async for value in values] == []
        if code == 1006:
            assert (server.call.pauses, server.call.closed) == ([True, False, True], None)
        else:
            await asyncio.wait_for(server.call.gone.wait(), 20)
            assert server.call.closed == "gone"


async def test_a_call_that_the_agent_ends_closes_the_resumed_connection() -> None:
    async with serving() as server, connect(f"{server.url}?resume_s=20") as first:
        await received(first)
        await lose(server, first)
        async with resumed(server) as second:
            server.call.hung_up = "goodbye"
            server.call.over.set()
            with pytest.raises(ConnectionClosed) as caught:
                await asyncio.wait_for(second.recv(), 20)
            assert caught.value.rcvd is not None
            assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1000, "goodbye")
