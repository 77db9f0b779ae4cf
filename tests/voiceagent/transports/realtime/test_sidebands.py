"""Sidebands over a real WebSocket, with scripted calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from realtime_server import RealtimeServer, nowhere, serving
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent.access.access_control import CallAsked
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.realtime.sidebands.messages import Refused, Relayed, at_another_gateway
from voiceagent.transports.relay import Accepted, Closed, FromClient

APPEND = {"type": "input_audio_buffer.append", "audio": "AAAAAAAA"}


@asynccontextmanager
async def with_sideband() -> AsyncIterator[tuple[RealtimeServer, ClientConnection, ClientConnection]]:
    """Yield a server, the call's own client and a sideband, both with a session."""
    async with serving() as server, connect(server.url) as own:
        await own.recv()
        async with connect(f"{server.url}?call_id={server.call.call_id}") as sideband:
            await sideband.recv()
            yield server, own, sideband


async def received(websocket: ClientConnection) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(await asyncio.wait_for(websocket.recv(), 20))
    return event


async def test_requests_reach_the_call_with_the_number_of_the_sideband() -> None:
    async with with_sideband() as (server, own, sideband):
        await own.send('{"type":"input_audio_buffer.clear"}')
        await server.call.until(lambda call: len(call.requests) == 1)
        await sideband.send('{"type":"input_audio_buffer.clear"}')
        await server.call.until(lambda call: len(call.requests) == 2)
        assert [request.sideband for request in server.call.requests] == [0, 1]


async def test_what_a_sideband_asks_for_is_logged_with_its_number() -> None:
    with capture_logs() as logs:
        async with with_sideband() as (server, _, sideband):
            await sideband.send('{"type":"response.create"}')
            await server.call.until(lambda call: len(call.requests) == 1)
    told = [(line["event"], line["sideband"]) for line in logs if line["event"].startswith("sideband_")]
    assert told == [("sideband_attached", 1), ("sideband_request", 1), ("sideband_detached", 1)]
    assert next(line for line in logs if line["event"] == "sideband_request")["request"] == "response.create"


async def test_a_sideband_that_leaves_leaves_the_call_as_it_is() -> None:
    async with with_sideband() as (server, own, sideband):
        await sideband.close()
        await own.send('{"type":"input_audio_buffer.clear"}')
        await server.call.until(lambda call: len(call.requests) == 1)
        assert server.call.closed is None


async def test_the_end_of_the_call_closes_the_sideband_and_says_so() -> None:
    async with with_sideband() as (server, _, sideband):
        server.call.over.set()
        with pytest.raises(ConnectionClosed) as closed:
            await received(sideband)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "the call has ended")


async def test_sound_is_not_taken_from_a_sideband() -> None:
    async with with_sideband() as (server, _, sideband):
        await sideband.send(json.dumps(APPEND))
        error = (await received(sideband))["error"]
        assert "not in events" in error["message"]
        assert not server.call.heard


async def test_formats_stay_those_of_the_call_s_own_client() -> None:
    async with with_sideband() as (server, _, sideband):
        before = server.call.settings
        audio = {"input": {"format": {"type": "audio/pcmu"}}, "output": {"format": {"type": "audio/pcma"}}}
        session = {"type": "realtime", "instructions": "Be kind.", "audio": audio}
        await sideband.send(json.dumps({"type": "session.update", "session": session}))
        await received(sideband)
        now = server.call.settings
        assert now.instructions == "Be kind."
        assert (now.input_format, now.output_format) == (before.input_format, before.output_format)


async def test_a_sideband_that_does_not_read_is_closed_and_the_call_goes_on() -> None:
    async with with_sideband() as (server, own, sideband):
        sideband.transport.pause_reading()
        long = notify.NotifyKeyPressed("1" * 60_000, 0)
        with capture_logs() as logs:
            while not any(line["event"] == "sideband_detached" for line in logs):
                server.call.client.notify(long)
                await received(own)
        assert next(line for line in logs if line["event"] == "sideband_detached")["reason"] == (
            "the client does not read"
        )
        await own.send('{"type":"input_audio_buffer.clear"}')
        await server.call.until(lambda call: len(call.requests) == 1)
        sideband.transport.abort()


async def test_a_call_has_so_many_sidebands_and_no_more() -> None:
    most = TransportLimits().max_sidebands
    async with serving() as server, connect(server.url) as own:
        await own.recv()
        url = f"{server.url}?call_id={server.call.call_id}"
        attached = [await connect(url) for _ in range(most)]
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
        assert refused.value.response.status_code == 429
        assert b"at most 8" in refused.value.response.body
        await attached[0].close()
        async with asyncio.timeout(20):
            while len(server.find(server.call.call_id).clients) == most:  # type: ignore[union-attr]  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        async with connect(url) as another:
            await another.recv()
        for one in attached:
            await one.close()


async def test_a_client_follows_the_redirect_to_the_gateway_that_has_the_call() -> None:
    async with serving() as other, connect(other.url) as own:
        await own.recv()
        call_id = other.call.call_id

        async def elsewhere(
            asked: CallAsked, messages: AsyncIterator[FromClient]
        ) -> AsyncGenerator[Relayed, None]:
            yield at_another_gateway(asked, f"http://127.0.0.1:{other.port}")

        async with (
            serving(elsewhere=elsewhere) as one,
            connect(f"{one.url}?call_id={call_id}") as sideband,
        ):
            assert (await received(sideband))["session"]["id"] == call_id


async def test_a_stream_carries_a_sideband_to_a_call_of_another_process() -> None:
    async with serving() as server, connect(server.url) as own:
        await own.recv()
        sidebands = Sidebands(server.find, server.admission, nowhere)
        sent: asyncio.Queue[str] = asyncio.Queue()

        async def messages() -> AsyncIterator[str]:
            while True:
                yield await sent.get()

        asked = CallAsked(server.call.call_id, "")
        assert sidebands.has(asked) and not sidebands.has(CallAsked("rtc_0", ""))
        async with aclosing(sidebands.serve_stream(asked, messages())) as values:
            assert isinstance(await anext(values), Accepted)
            created = await anext(values)
            assert isinstance(created, str) and json.loads(created)["type"] == "session.created"
            await sent.put('{"type":"input_audio_buffer.clear"}')
            await server.call.until(lambda call: bool(call.requests))
            assert isinstance(server.call.requests[0], ev.InputCleared)
            server.call.over.set()
            assert await anext(values) == Closed(1000, "the call has ended")
        async with aclosing(sidebands.serve_stream(CallAsked("rtc_0", ""), messages())) as values:
            refused = await anext(values)
            assert isinstance(refused, Refused) and refused.status == 404
