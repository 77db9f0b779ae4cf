"""Live sessions over WebRTC: the request, the data channel and its permissions, and audio on the tracks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import numpy as np
import pytest
from live_server import LiveServer, LiveSocket, serving
from live_types import proved
from openai.types.live import LiveCreateResponse
from rtc_caller import LiveRtcCaller, rtc_calling
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from audio.pcm import AudioFormat
from llmcore.engine import ToolCall
from voiceagent.access.access_control import Admitted
from voiceagent.access.auth import ApiKeys
from voiceagent.access.requester import NotAdmitted
from voiceagent.conversation import notifications as notify
from voiceagent.transports.live.client_secrets import check_prescribed
from voiceagent.transports.realtime.http import refuse_live
from voiceagent.transports.realtime.protocol.errors import RequestError

pytestmark = pytest.mark.timeout(60)
FRAME = (8000 * np.sin(np.arange(480) / 5)).astype(np.int16)
SOUND = base64.b64encode(FRAME.tobytes()).decode()


@asynccontextmanager
async def calling(**session: Any) -> AsyncIterator[tuple[LiveServer, LiveRtcCaller]]:
    """Yield a server and the caller of a session with this configuration; its events are proved."""
    async with serving() as server:
        async with rtc_calling(f"127.0.0.1:{server.port}", session, LiveRtcCaller) as caller:
            assert isinstance(caller, LiveRtcCaller)
            yield server, caller
        await asyncio.wait_for(server.call.gone.wait(), 30)
        for event in caller.events:
            proved(event)


async def refused(body: Any) -> dict[str, Any]:
    """Return the error of a request, which leaves no call open."""
    async with serving() as server, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(f"http://127.0.0.1:{server.port}/v1/live/sessions", json=body)
        assert answer.status_code == 400
        assert all(call.closed for call in server.calls)
        return dict(answer.json()["error"])


def channel(**allowed: Any) -> dict[str, Any]:
    return {"client": {"data_channel": allowed}}


async def test_answer_of_the_request_is_the_packages() -> None:
    async with serving() as server, httpx.AsyncClient(trust_env=False) as http:
        caller = LiveRtcCaller(http)
        body = {"session": {"model": "m", "instructions": "Be brief."}} | await caller.transport()
        answer = await http.post(f"http://127.0.0.1:{server.port}/v1/live/sessions", json=body)
        created = LiveCreateResponse.model_validate_json(answer.text, strict=True)
        assert created.session.id == server.call.call_id
        assert answer.headers["location"].endswith(created.session.id)
        assert (server.call.model, server.call.settings.instructions) == ("m", "Be brief.")
        await caller.peer.close()
        server.call.over.set()
        await server.call.gone.wait()


async def test_session_over_webrtc_shows_no_audio_format() -> None:
    async with calling() as (server, caller):
        (started,) = caller.of("session.started")
        assert started["session"]["id"] == server.call.call_id
        assert "format" not in started["session"]["audio"]
        settings = server.call.settings
        assert (settings.input_format, settings.output_format) == (AudioFormat.PCM_16K, AudioFormat.PCM_24K)


async def test_audio_goes_over_the_tracks_and_transcripts_over_the_channel() -> None:
    async with calling() as (server, caller):
        await server.call.until(lambda call: call.taken_samples >= 16_000)
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hello."))
        while np.abs(caller.sound[-960:]).max(initial=0) < 4000:
            client.play("resp_1", FRAME)
            await asyncio.sleep(0.02)
        assert (await caller.until("session.output_transcript.delta"))["delta"] == "Hello."
        assert not caller.of("session.output_audio.delta")


async def test_first_played_audio_is_reported_once() -> None:
    async with calling() as (server, _):
        for _ in range(5):
            server.call.client.play("resp_1", FRAME)
        await server.call.until(lambda call: bool(call.reports))
        assert [response_id for response_id, _ in server.call.reports] == ["resp_1"]


async def test_muted_caller_is_silent_for_the_call() -> None:
    async with calling() as (server, caller):
        caller.send(type="session.input_audio.mute", event_id="e1")
        assert (await caller.until("session.input_audio.muted"))["client_event_id"] == "e1"
        before = server.call.taken_samples
        talk = asyncio.create_task(caller.microphone.say(np.tile(FRAME, 100)))
        await server.call.until(lambda call: call.taken_samples >= before + 16_000)
        assert not np.any(np.concatenate(server.call.heard)[before:])
        await talk


async def test_audio_in_events_is_refused() -> None:
    async with calling() as (_, caller):
        caller.send(type="session.input_audio.append", event_id="e1", audio=SOUND)
        error = (await caller.until("error"))["error"]
        assert (error["param"], error["client_event_id"]) == ("type", "e1")


async def test_hangup_sends_the_last_event_and_closes() -> None:
    async with calling() as (server, caller):
        url = f"http://127.0.0.1:{server.port}/v1/live/sessions/{server.call.call_id}/hangup"
        assert (await caller.http.post(url)).status_code == 200
        assert (await caller.until("session.closed"))["reason"] == "close_requested"


async def test_sideband_attaches_to_a_session_over_webrtc() -> None:
    allowed = channel(allowed_client_events=[], allowed_server_events=[{"type": "session.started"}])
    async with calling(**allowed) as (server, caller):
        async with connect(f"{server.url}/{server.call.call_id}/attach") as websocket:
            sideband = LiveSocket(websocket)
            await sideband.receive()
            assert (await sideband.until("session.input_audio.append"))["audio"]
            await sideband.send("session.input_audio.mute")
            await sideband.until("session.input_audio.muted")
            server.call.client.play("resp_1", FRAME)
            assert "end_ms" in await sideband.until("session.output_audio.delta")
        assert not caller.of("session.input_audio.muted")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "transport"),
        ({"session": {"model": "m"}, "transport": {"type": "webrtc"}}, "transport.sdp"),
        ({"session": {}, "transport": {"type": "webrtc", "sdp": "v=0"}}, "session.model"),
        ({"session": {"model": "m"}, "transport": {"type": "sip", "sdp": "v=0"}}, "transport.type"),
        ({"session": {"model": "m"}, "transport": {"type": "webrtc", "sdp": "no sdp"}}, "sdp"),
        (
            {
                "session": {"model": "m", "audio": {"format": {"type": "audio/pcmu"}}},
                "transport": {"type": "webrtc", "sdp": "v=0"},
            },
            "session.audio.format",
        ),
        (
            {
                "session": {"model": "m", **channel(allowed_server_events=[{"type": "response.event"}])},
                "transport": {"type": "webrtc", "sdp": "v=0"},
            },
            "session.client.data_channel.allowed_server_events[0]",
        ),
    ],
)
async def test_request_that_cannot_be_served_names_its_field(body: dict[str, Any], param: str) -> None:
    assert (await refused(body))["param"] == param


async def test_frontend_sends_and_receives_only_what_is_allowed() -> None:
    received = [{"type": kind} for kind in ("session.started", "error", "info")]
    received.append({"type": "response.event", "response_event": "response.completed"})
    backend = {"type": "responses", "responses": {"model": "m"}}
    allowed = channel(allowed_client_events=["session.close"], allowed_server_events=received)
    async with calling(delegation=backend, **allowed) as (server, caller):
        assert (await caller.until("info"))["code"] == "data_channel_permissions"
        client = server.call.client
        client.notify(notify.NotifyToolCall("resp_1", "item_1", None, ToolCall("call_1", "weather", "{}")))
        client.notify(notify.NotifyResponseEnded("resp_1", "completed"))
        await caller.until("response.event")
        caller.send(type="session.input_audio.mute", event_id="e1")
        error = (await caller.until("error"))["error"]
        assert (error["code"], error["client_event_id"]) == ("event_not_allowed", "e1")
        caller.send(type="session.close")
        await asyncio.wait_for(caller.closed.wait(), 30)
        assert [event["type"] for event in caller.events] == [
            *("session.started", "info", "response.event", "error")
        ]
        assert caller.of("response.event")[0]["event"]["type"] == "response.completed"


# ---- client secrets


async def test_secret_restricts_the_session_and_opens_nothing_else() -> None:
    async with serving(ApiKeys(frozenset({"owner"}))) as server:
        received = [{"type": kind} for kind in ("session.started", "error")]
        allowed = channel(allowed_client_events=[], allowed_server_events=received)
        session = {"type": "live", "model": "m", "instructions": "Be brief.", **allowed}
        key = server.admission.new_secret(session, 60).value
        headers = {"authorization": f"Bearer {key}"}
        wanted = {"instructions": "Be loud.", **channel(allowed_client_events="all")}
        address = f"127.0.0.1:{server.port}"
        async with rtc_calling(address, wanted, LiveRtcCaller, **headers) as caller:
            assert server.call.settings.instructions == "Be brief."
            caller.send(type="session.close", event_id="e1")
            assert (await caller.until("error"))["error"]["code"] == "event_not_allowed"
            for url in (server.url, f"{server.url}/{server.call.call_id}/attach"):
                with pytest.raises(InvalidStatus) as caught:
                    await connect(url, additional_headers=headers)
                assert caught.value.response.status_code == 403
        await asyncio.wait_for(server.call.gone.wait(), 30)


def test_secret_for_a_live_session_opens_no_realtime_call() -> None:
    with pytest.raises(NotAdmitted):
        refuse_live(Admitted({"type": "live", "model": "m"}))
    refuse_live(Admitted({"type": "realtime"}))


def test_prescribed_session_is_checked_when_the_secret_is_requested() -> None:
    with pytest.raises(RequestError) as caught:
        check_prescribed({"type": "live", "model": "m", **channel(allowed_client_events=[1])})
    assert caught.value.param == "session.client.data_channel.allowed_client_events[0]"
