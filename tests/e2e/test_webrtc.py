"""A remote that speaks WebRTC calls a server, started as users start it, with recorded human speech."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import pytest_asyncio
from called_page import page_at, talk
from openai_types import proved
from recordings import recorded
from rtc_caller import RATE_HZ, rtc_calling
from served import calls_at, lent, served

from audio.wav import write_wav
from voiceagent.bench.speech import voice_end_s

ROOT = Path(__file__).parents[2]
FIXED = ROOT / "tests/bench/fixed.toml"
SILENCE = np.zeros(RATE_HZ * 3 // 2, np.int16)
LEAK_BYTES = 40_000
"""A call that leaves so much behind leaks: a connection keeps buffers of many times that."""
KEEP_CONNECTION = """
window.keys = "";
const Connection = window.RTCPeerConnection;
window.RTCPeerConnection = class extends Connection {
    createDataChannel(...how) {
        const channel = super.createDataChannel(...how);
        channel.addEventListener("message", (message) => {
            const event = JSON.parse(message.data);
            if (event.type === "input_audio_buffer.dtmf_event_received") window.keys += event.event;
        });
        window.connection = this;
        return channel;
    }
};
"""
PRESS = """async (keys) => {
    const until = async (met) => {
        while (!met()) await new Promise((done) => setTimeout(done, 50));
    };
    await until(() => window.connection?.connectionState === "connected");
    const [sender] = window.connection.getSenders().filter(({ track }) => track?.kind === "audio");
    sender.dtmf.insertDTMF(keys);
    await until(() => window.keys.length >= keys.length);
    return window.keys;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_demo() -> AsyncIterator[str]:
    async with served(ROOT / "configs/demo.toml") as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_fixed() -> AsyncIterator[str]:
    async with served(FIXED) as address:
        yield address


@pytest.fixture
async def demo(shared_demo: str) -> AsyncIterator[str]:
    """The address of a server of the demo."""
    async with lent(shared_demo) as address:
        yield address


@pytest.fixture
async def fixed(shared_fixed: str) -> AsyncIterator[str]:
    """The address of a server with engines of fixed cost."""
    async with lent(shared_fixed) as address:
        yield address


async def test_a_turn_goes_over_tracks_its_events_over_the_channel(demo: str) -> None:
    async with rtc_calling(demo) as caller:
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert "forward" in understood["transcript"]
        started = await caller.until("output_audio_buffer.started")
        response = (await caller.until("response.done"))["response"]
        assert response["status"] == "completed"
        assert started["response_id"] == response["id"]
        stopped = await caller.until("output_audio_buffer.stopped")
        assert stopped["response_id"] == response["id"]
        assert not caller.of("response.output_audio.delta"), "the sound goes over the track"
        await caller.until_sound(0.5)
        loudness = np.sqrt(np.mean(caller.sound.astype(np.float64) ** 2))
        assert loudness > 500, "loud enough to be heard"
        for event in caller.events:
            proved(event)


async def test_words_are_understood_with_a_tenth_of_packets_lost(demo: str) -> None:
    async with rtc_calling(demo) as caller:
        caller.lose(0.1)
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert "forward" in understood["transcript"].lower()
        assert (await caller.until("response.done"))["response"]["status"] == "completed"


async def test_a_caller_who_mutes_behind_the_last_word_is_answered(fixed: str) -> None:
    """The track is removed, as by push to talk: no more packets arrive."""
    voice = recorded("goforward.wav", RATE_HZ)
    spoken = voice[: round(voice_end_s(voice, RATE_HZ) * RATE_HZ)]
    async with rtc_calling(fixed) as caller:
        await caller.microphone.say(np.concatenate([SILENCE, spoken]))
        (sender,) = caller.peer.getSenders()
        sender.replaceTrack(None)
        assert (await caller.until("response.done"))["response"]["status"] == "completed"
        sender.replaceTrack(caller.microphone)
        await caller.microphone.say(spoken)
        sender.replaceTrack(None)
        await caller.until("input_audio_buffer.committed", 2)
        await caller.until("response.done", 2)


async def test_the_waterfall_of_a_turn_ends_with_what_the_caller_heard(fixed: str) -> None:
    session = {"type": "realtime", "voiceagent": {"latency": True}}
    async with rtc_calling(fixed, session) as caller:
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        await caller.until("response.done")
        stages = [stage["name"] for stage in (await caller.until("voiceagent.latency"))["stages"]]
        assert stages[-2:] == ["playout", "network"]


async def test_speech_over_the_agent_stops_its_sound(fixed: str) -> None:
    async with rtc_calling(fixed) as caller:
        voice = recorded("goforward.wav", RATE_HZ)
        await caller.microphone.say(np.concatenate([voice, SILENCE]))
        await caller.until_sound(1.0)
        await caller.microphone.say(voice)
        cleared = await caller.until("output_audio_buffer.cleared")
        response = (await caller.until("response.done"))["response"]
        assert response["status"] == "cancelled"
        assert cleared["response_id"] == response["id"]
        assert not [
            each for each in caller.of("output_audio_buffer.stopped") if each["response_id"] == response["id"]
        ]


async def test_a_form_brings_the_session_that_the_call_begins_with(fixed: str) -> None:
    session = {"type": "realtime", "instructions": "Be brief.", "output_modalities": ["text"]}
    async with rtc_calling(fixed, session) as caller:
        created = (await caller.until("session.created"))["session"]
        assert created["instructions"] == "Be brief."
        assert not caller.of("session.updated")
        caller.send(type="response.create")
        response = (await caller.until("response.done"))["response"]
        assert response["output"][0]["content"][0]["type"] == "output_text"


async def test_formats_of_a_session_do_not_touch_the_track(fixed: str) -> None:
    async with rtc_calling(fixed) as caller:
        audio = {"output": {"format": {"type": "audio/pcmu"}}}
        caller.send(type="session.update", session={"type": "realtime", "audio": audio})
        updated = (await caller.until("session.updated"))["session"]
        assert updated["audio"]["output"]["format"]["type"] == "audio/pcm"
        caller.send(type="input_audio_buffer.append", audio="AAA=")
        assert "not in events" in (await caller.until("error"))["error"]["message"]
        caller.send(type="response.create")
        await caller.until_sound(0.5)


async def gone(address: str) -> None:
    """Wait until the server has no call; far sooner than by consent alone."""
    async with asyncio.timeout(3):
        while await calls_at(address):  # noqa: ASYNC110  a client can only ask again
            await asyncio.sleep(0.05)


async def test_a_caller_who_hangs_up_is_gone_at_once(fixed: str) -> None:
    async with rtc_calling(fixed) as caller:
        assert await calls_at(fixed) == 1
        await caller.peer.close()
        await gone(fixed)


async def test_a_call_is_hung_up_by_request_and_once_more_is_no_mistake(fixed: str) -> None:
    async with rtc_calling(fixed) as caller:
        assert (await caller.http.post(f"{caller.location}/hangup")).status_code == 200
        await gone(fixed)
        async with asyncio.timeout(5):
            await caller.closed.wait()
        assert (await caller.http.post(f"{caller.location}/hangup")).status_code == 200
        missing = await caller.http.post("/v1/realtime/calls/rtc_none/hangup")
        assert missing.status_code == 404
        assert missing.json()["error"]["code"] == "call_not_found"


async def test_two_calls_at_once_hear_each_their_own_agent(fixed: str) -> None:
    async with rtc_calling(fixed) as one, rtc_calling(fixed) as other:
        one.send(type="response.create")
        await one.until_sound(0.5)
        assert not other.of("response.created")
        assert not other.frames


def server_at(address: str) -> psutil.Process:
    """Return our server's process that listens there; other tests may have servers of their own running."""
    port = int(address.rpartition(":")[2])
    return next(
        process
        for process in psutil.Process().children()
        if any(socket.laddr[1:] == (port,) for socket in process.net_connections())
    )


@pytest.mark.skipif(os.name != "posix", reason="file descriptors are counted on POSIX systems only")
async def test_a_hundred_calls_leave_no_thread_no_descriptor_and_no_memory_behind() -> None:
    async with served(FIXED) as address, httpx.AsyncClient(base_url=f"http://{address}") as http:
        server = server_at(address)
        footprints = []
        for _ in range(4):
            for number in range(25):
                async with rtc_calling(address) as caller:
                    if number % 2:
                        caller.send(type="response.create")
                        await caller.until_sound(0.1)
                    if number % 3 == 0:
                        await http.post(f"{caller.location}/hangup")
            async with asyncio.timeout(10):
                while (await http.get("/health")).json()["calls"]:  # noqa: ASYNC110  no event
                    await asyncio.sleep(0.05)
            footprints.append((server.num_threads(), server.num_fds(), server.memory_info().rss))
    threads, descriptors, memory = zip(*footprints, strict=True)
    assert threads[-1] <= threads[0] + 1
    assert descriptors[-1] <= descriptors[0] + 2
    # The allocator grows by leaps until it has settled; what leaks grows in every round.
    assert min(after - before for before, after in pairwise(memory)) < 25 * LEAK_BYTES


async def test_keys_that_a_browser_sends_are_received(fixed: str, tmp_path: Path) -> None:
    quiet = tmp_path / "quiet.wav"
    write_wav(quiet, SILENCE, RATE_HZ)
    async with page_at(fixed, quiet, KEEP_CONNECTION) as page:
        await talk(page)
        assert await page.evaluate(PRESS, "12#5A*0") == "12#5A*0"
