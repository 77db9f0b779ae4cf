"""Live sessions over WebRTC: the `openai` SDK makes the request; aiortc and Chromium carry the call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from chromium import chromium
from live_types import proved
from openai import AsyncOpenAI
from recordings import recorded
from rtc_caller import RATE_HZ, LiveRtcCaller
from served import serving_tools

from audio.wav import write_wav

CHROMIUM = """async () => {
    const peer = new RTCPeerConnection();
    const channel = peer.createDataChannel("oai-events");
    const events = (window.liveEvents = []);
    channel.onmessage = ({ data }) => events.push(JSON.parse(data));
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    for (const track of stream.getTracks()) peer.addTrack(track, stream);
    peer.ontrack = ({ track }) => { window.agent = new MediaStream([track]); };
    await peer.setLocalDescription();
    const transport = { type: "webrtc", sdp: peer.localDescription.sdp };
    const answer = await fetch("/v1/live/sessions", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ session: { model: "m" }, transport }),
    });
    await peer.setRemoteDescription({ type: "answer", sdp: (await answer.json()).transport.sdp });
    window.received = async () => {
        const stats = [...(await peer.getStats()).values()];
        return stats.find((one) => one.type === "inbound-rtp")?.packetsReceived ?? 0;
    };
    window.send = (event) => channel.send(JSON.stringify(event));
}"""
CAME = "(kind) => window.liveEvents.some((event) => event.type === kind)"
SAID = """(words) => window.liveEvents
    .filter((event) => event.type === "session.output_transcript.delta")
    .map((event) => event.delta).join("").includes(words)"""
SILENCE = np.zeros(RATE_HZ * 2, np.int16)


class SdkRtcCaller(LiveRtcCaller):
    """A session that the SDK requests."""

    async def connect(self, session: dict[str, Any] | None = None, **headers: str) -> None:
        """Start a session."""
        sdk = AsyncOpenAI(api_key="none", base_url=str(self.http.base_url.join("/v1")))
        config: Any = {"model": "gpt-live-1"} | (session or {})
        created = await sdk.live.create(session=config, **await self.transport())
        self.location = created.session.id
        await self.accept(created.transport.sdp)
        await sdk.close()

    async def until_said(self, words: str) -> None:
        """Wait until the agent's transcript has these words."""
        number = 0
        while words not in self.transcript("output"):
            number = len(self.of("session.output_transcript.delta")) + 1
            await self.until("session.output_transcript.delta", number)

    def transcript(self, side: str) -> str:
        """Return the transcript of one side so far."""
        return "".join(event["delta"] for event in self.of(f"session.{side}_transcript.delta"))


@asynccontextmanager
async def calling(folder: Path, **session: Any) -> AsyncIterator[SdkRtcCaller]:
    """Yield the caller of a session; every event is proved at the end."""
    async with (
        serving_tools(folder, "live_engine:LiveLlm") as address,
        httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http,
    ):
        caller = SdkRtcCaller(http)
        try:
            await caller.connect(session)
            yield caller
        finally:
            await caller.peer.close()
        for event in caller.events:
            proved(event)


async def test_speech_is_delegated_bridged_and_answered_over_the_tracks(tmp_path: Path) -> None:
    async with calling(tmp_path) as caller:
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        about = (await caller.until("session.delegation.created"))["delegation"]
        await caller.until_said("One moment.")
        caller.send(type="session.commentary.append", content="sunny", delegation_id=about["id"])
        await caller.until("session.commentary.appended")
        await caller.until_said("It says sunny.")
        await caller.until_sound(1.0)
        assert caller.transcript("input") == "Could you help me with something?"
        loudness = np.sqrt(np.mean(caller.sound.astype(np.float64) ** 2))
        assert loudness > 100, "loud enough to be heard"
        caller.send(type="session.close")
        assert (await caller.until("session.closed"))["reason"] == "close_requested"


async def test_function_of_the_client_is_called_over_the_channel(tmp_path: Path) -> None:
    weather = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
    delegation = {"type": "responses", "responses": {"model": "gpt-5", "tools": [weather]}}
    async with calling(tmp_path, delegation=delegation) as caller:
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        await caller.until("session.delegation.created")
        items: list[dict[str, Any]] = []
        number = 0
        while not items or items[-1]["type"] != "function_call":
            number += 1
            inner = (await caller.until("response.event", number))["event"]
            items += [inner["item"]] if inner["type"] == "response.output_item.done" else []
        call = items[-1]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        caller.send(type="response.item.create", item=output)
        caller.send(type="response.create")
        await caller.until_said("It says sunny.")


async def test_chromium_holds_a_session(tmp_path: Path) -> None:
    voice = tmp_path / "voice.wav"
    spoken = np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE])
    write_wav(voice, spoken, RATE_HZ)
    async with (
        serving_tools(tmp_path, "live_engine:LiveLlm") as address,
        chromium(voice) as browser,
    ):
        page = await browser.new_page(base_url=f"http://{address}")
        await page.goto("/")
        await page.evaluate(CHROMIUM)
        await page.wait_for_function(CAME, arg="session.delegation.created")
        await page.wait_for_function(SAID, arg="One moment.")
        events = await page.evaluate("() => window.liveEvents")
        about = next(one for one in events if one["type"] == "session.delegation.created")["delegation"]
        commentary = {"type": "session.commentary.append", "content": "sunny", "delegation_id": about["id"]}
        await page.evaluate("(event) => window.send(event)", commentary)
        await page.wait_for_function(SAID, arg="It says sunny.")
        assert await page.evaluate("() => window.received()") > 10, "the agent's voice comes over the track"
        await page.evaluate("() => window.send({ type: 'session.close' })")
        await page.wait_for_function(CAME, arg="session.closed")
        for event in await page.evaluate("() => window.liveEvents"):
            proved(event)
