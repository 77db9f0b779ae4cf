"""Audio fixtures: a clip of the client, played word for word. The calls behind the server are scripted."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from live_server import LiveSocket, session
from scripted_call import ScriptedCall
from websockets.asyncio.client import connect

from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.live.fixture import to_clip
from voiceagent.transports.live.protocol.decode import decode
from voiceagent.transports.realtime.protocol.errors import RequestError

pytestmark = pytest.mark.timeout(30)
PLAY = "session.output_audio.fixture.play"
FRAME = np.full(480, 7, np.int16)
LONGEST = np.full(30 * 24_000, 7, np.int16)


def base64_of(sound: np.ndarray) -> str:
    return base64.b64encode(sound.tobytes()).decode()


def clip(call: ScriptedCall) -> ev.ClipRequested:
    """Return the only clip that the session has requested."""
    (requested,) = (one for one in call.requests if isinstance(one, ev.ClipRequested))
    return requested


async def play(socket: LiveSocket, sound: np.ndarray = FRAME) -> None:
    await socket.send(PLAY, event_id="e1", audio=base64_of(sound))
    playing = await socket.until("session.output_audio.fixture.playing")
    assert playing["client_event_id"] == "e1"


def test_fixture_may_last_30_s() -> None:
    text = base64_of(LONGEST)
    assert (to_clip(text) == LONGEST).all()
    event = decode(json.dumps({"type": PLAY, "audio": text}), USUAL_LIMITS)
    assert event.type == PLAY
    with pytest.raises(RequestError):
        to_clip(base64_of(np.append(LONGEST, np.int16(0))))


async def test_end_of_a_fixture_is_told() -> None:
    async with session() as (server, socket):
        await play(socket)
        server.call.client.notify(notify.NotifyClipEnded(clip(server.call).response_id, True))
        assert (await socket.receive())["type"] == "session.output_audio.fixture.played"
        assert socket.events[-1]["client_event_id"] == "e1"


async def test_fixture_is_pcm_at_24_khz_whatever_the_format_of_the_session() -> None:
    async with session(audio={"format": {"type": "audio/pcmu", "rate": 8_000}}) as (server, socket):
        await play(socket)
        assert (clip(server.call).sound == FRAME).all()


async def test_caller_is_not_heard_while_a_fixture_plays() -> None:
    async with session() as (server, socket):
        await play(socket)
        await socket.send("session.input_audio.unmute")
        await socket.send("session.input_audio.append", audio=base64_of(FRAME))
        await server.call.until(lambda call: len(call.heard) == 1)
        server.call.client.notify(notify.NotifyClipEnded(clip(server.call).response_id, True))
        await socket.send("session.input_audio.append", audio=base64_of(FRAME))
        await server.call.until(lambda call: len(call.heard) == 2)
        dropped, heard = server.call.heard
        assert not dropped.any()
        assert (heard == FRAME).all()


@pytest.mark.parametrize("kind", ["instructions", "thinking", "commentary"])
async def test_context_is_refused_while_a_fixture_plays(kind: str) -> None:
    async with session() as (server, socket):
        await play(socket)
        await socket.send(f"session.{kind}.append", event_id="e2", content="It rains.", delegation_id=None)
        error = (await socket.receive())["error"]
        assert (error["code"], error["client_event_id"]) == ("fixture_active", "e2")
        server.call.client.notify(notify.NotifyClipEnded(clip(server.call).response_id, True))
        await socket.send(f"session.{kind}.append", content="It rains.", delegation_id=None)
        await socket.until(f"session.{kind}.appended")


async def test_second_fixture_is_refused_while_one_plays() -> None:
    async with session() as (server, socket):
        await play(socket)
        await socket.send(PLAY, event_id="e2", audio=base64_of(FRAME))
        assert (await socket.receive())["error"]["code"] == "fixture_active"
        assert clip(server.call)


@pytest.mark.parametrize(
    "audio",
    [
        "",
        "?",
        base64.b64encode(b"odd").decode(),
        base64.b64encode(b"RIFF\x24\x00\x00\x00WAVE").decode(),
        base64.b64encode(b"OggS\x00\x02").decode(),
    ],
    ids=["empty", "not base64", "odd", "WAV", "Ogg"],
)
async def test_bad_fixture_is_refused_before_the_agent_is_cut(audio: str) -> None:
    async with session() as (server, socket):
        await socket.send(PLAY, event_id="e1", audio=audio)
        error = (await socket.receive())["error"]
        assert (error["param"], error["client_event_id"]) == ("audio", "e1")
        assert not [one for one in server.call.requests if isinstance(one, ev.ClipRequested)]


async def test_fixture_that_was_cut_has_no_end_and_another_may_play() -> None:
    async with session() as (server, socket):
        await play(socket)
        server.call.client.notify(notify.NotifyClipEnded(clip(server.call).response_id, False))
        server.call.requests.clear()
        await play(socket)
        assert "session.output_audio.fixture.played" not in [event["type"] for event in socket.events]


async def test_sideband_plays_a_fixture_and_both_see_it() -> None:
    async with session() as (server, socket):
        url = f"{server.url}/{server.call.call_id}/attach"
        async with connect(url) as websocket:
            sideband = LiveSocket(websocket)
            await sideband.until("session.started")
            await play(sideband)
            assert (await socket.receive())["type"] == "session.output_audio.fixture.playing"
