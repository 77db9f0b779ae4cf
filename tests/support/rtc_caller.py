"""A caller over WebRTC: aiortc as the remote, as a browser would be."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any

import aioice.ice
import aiortc.rtcrtpsender
import httpx
import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from av import AudioFrame
from av.frame import Frame
from faulty_lines import FaultyLine, FaultyPackets

from audio.opus import OpusEncoder
from audio.pcm import Samples
from audio.resample import Resampler
from voiceagent.bench.wires import CHROMIUM_BITRATE

RATE_HZ = 48_000
FRAME = RATE_HZ // 50
PATIENCE_S = 60.0

# Caller and server are on one machine, which need not have a network.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]


class BrowserEncoder:
    """Opus as Chromium sends it to a server that listens at 16 kHz: wideband speech, mono."""

    def __init__(self) -> None:
        self._resampler = Resampler(RATE_HZ, 16_000)
        self._opus = OpusEncoder(CHROMIUM_BITRATE, rate_hz=16_000, speech_coder=True)
        self._waiting: Samples = np.zeros(0, np.int16)
        self._encoded = 0

    def encode(self, frame: Frame, force_keyframe: bool = False) -> tuple[list[bytes], int]:
        """The packet of the frame before, at 48 kHz: the resampler holds some of this one back."""
        assert isinstance(frame, AudioFrame)
        ready = self._resampler.push(frame.to_ndarray()[0])
        self._waiting = np.concatenate((self._waiting, ready))
        if len(self._waiting) < 320:
            return [], 0
        packet, self._waiting = self._opus.encode(self._waiting[:320]), self._waiting[320:]
        self._encoded += 1
        return [packet], (self._encoded - 1) * FRAME


aiortc.rtcrtpsender.get_encoder = lambda codec: BrowserEncoder()  # type: ignore[assignment, attr-defined, return-value]


class Microphone(MediaStreamTrack):
    """Sound at the pace of real time: the given speech, and silence otherwise."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._sound: Samples = np.zeros(0, np.int16)
        self._sent = 0
        self._began_s: float | None = None
        self._said = asyncio.Event()

    async def say(self, samples: Samples) -> None:
        """Say something at 48 kHz; returns when it is said."""
        self._sound = np.concatenate([self._sound, samples])
        self._said.clear()
        await self._said.wait()

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        if self._began_s is None:
            self._began_s = loop.time()
        await asyncio.sleep(max(0.0, self._began_s + self._sent / RATE_HZ - loop.time()))
        samples = np.zeros(FRAME, np.int16)
        samples[: len(self._sound[:FRAME])] = self._sound[:FRAME]
        self._sound = self._sound[FRAME:]
        if not len(self._sound):
            self._said.set()
        frame = AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._sent, Fraction(1, RATE_HZ)
        self._sent += FRAME
        return frame


class RtcCaller:
    """One call. `events` holds all server events, `sound` the agent's voice [n] at 48 kHz. peer: its own,
    where that has something before the voice. first: type of the first event.
    """

    first = "session.created"

    def __init__(self, http: httpx.AsyncClient, peer: RTCPeerConnection | None = None) -> None:
        self.http = http
        self.peer = peer or RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.peer.addTrack(self.microphone)
        self.channel = self.peer.createDataChannel("oai-events")
        self.channel.on("message", self._take)
        self.peer.on("track", self._listen)
        self.events: list[dict[str, Any]] = []
        self.frames: list[Samples] = []
        self.location = self.answer = ""
        self.closed = asyncio.Event()
        self.channel.on("close", self.closed.set)
        self.listening: asyncio.Task[None] | None = None
        self._came = asyncio.Event()

    async def offer(self) -> str:
        """The offer of this caller, SDP."""
        await self.peer.setLocalDescription(await self.peer.createOffer())
        return self.peer.localDescription.sdp

    async def connect(self, session: dict[str, Any] | None = None, **headers: str) -> None:
        """Make the call; with a session, as a form."""
        offer = await self.offer()
        if session is None:
            headers["content-type"] = "application/sdp"
            response = await self.http.post("/v1/realtime/calls", content=offer, headers=headers)
        else:
            parts = {
                "sdp": (None, offer, "application/sdp"),
                "session": (None, json.dumps(session), "application/json"),
            }
            response = await self.http.post("/v1/realtime/calls", files=parts, headers=headers)
        assert response.status_code == 201, response.text
        self.location = response.headers["location"]
        await self.accept(response.text)

    async def accept(self, answer: str) -> None:
        """Connect with an answer, and wait for the session."""
        self.answer = answer
        known = self.reachable(answer)
        await self.peer.setRemoteDescription(RTCSessionDescription(known, "answer"))
        await self.until(self.first)

    def reachable(self, answer: str) -> str:
        """Return the answer with the addresses that this caller can reach: all."""
        return answer

    def lose(self, fraction: float, seed: int = 3) -> None:
        """From now on lose this share of all packets: of each direction the same, however they alternate."""
        leaving, arriving = random.Random(seed), random.Random(seed + 1)
        line = self.peer.getTransceivers()[0].sender.transport.transport
        send, receive = line._send, line._recv

        async def lossy_send(data: bytes) -> None:
            if leaving.random() >= fraction:
                await send(data)

        async def lossy_receive() -> bytes:
            while True:
                data: bytes = await receive()
                if arriving.random() >= fraction:
                    return data

        line._send, line._recv = lossy_send, lossy_receive

    def over(self, line: FaultyLine) -> None:
        """From now on all packets go over a line, in both directions."""
        transport = self.peer.getTransceivers()[0].sender.transport.transport
        packets = FaultyPackets(line, transport._send, transport._recv)
        transport._send, transport._recv = packets.send, packets.receive

    def send(self, **event: Any) -> None:
        """Send a client event."""
        self.channel.send(json.dumps(event))

    async def until(self, kind: str, number: int = 1, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The first, second, ... event of a kind, waited for if it has not come yet."""
        async with asyncio.timeout(patience_s):
            while len(self.of(kind)) < number:
                self._came.clear()
                await self._came.wait()
        return self.of(kind)[number - 1]

    async def until_sound(self, seconds: float) -> None:
        """Wait until so much of the agent's voice has come."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.sound) < seconds * RATE_HZ:
                self._came.clear()
                await self._came.wait()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All events of a kind that have come."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def sound(self) -> Samples:
        """All that was heard of the agent [n], at 48 kHz."""
        return np.concatenate([np.zeros(0, np.int16), *self.frames])

    def _take(self, text: str) -> None:
        self.events.append(json.loads(text))
        self._came.set()

    def _listen(self, track: MediaStreamTrack) -> None:
        self.listening = asyncio.create_task(self._hear(track))

    async def _hear(self, track: MediaStreamTrack) -> None:
        try:
            while True:
                frame = await track.recv()
                assert isinstance(frame, AudioFrame)
                self.frames.append(frame.to_ndarray().reshape(-1, 2)[:, 0].astype(np.int16))
                self._came.set()
        except MediaStreamError:
            pass


class LiveRtcCaller(RtcCaller):
    """A session of the Live API, requested as its clients do."""

    first = "session.started"

    async def connect(self, session: dict[str, Any] | None = None, **headers: str) -> None:
        """Start a session."""
        body = {"session": {"model": "m"} | (session or {})}
        response = await self.http.post(
            "/v1/live/sessions", json=body | await self.transport(), headers=headers
        )
        assert response.status_code == 201, response.text
        self.location = response.headers["location"]
        await self.accept(response.json()["transport"]["sdp"])

    async def transport(self) -> dict[str, Any]:
        """Return the field of a request with the offer of this caller."""
        return {"transport": {"type": "webrtc", "sdp": await self.offer()}}


@asynccontextmanager
async def rtc_calling(
    address: str,
    session: dict[str, Any] | None = None,
    kind: type[RtcCaller] = RtcCaller,
    **headers: str,
) -> AsyncIterator[RtcCaller]:
    """A call to the server at `address`."""
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
        caller = kind(http)
        try:
            await caller.connect(session, **headers)
            yield caller
        finally:
            await caller.peer.close()
            if caller.listening is not None:
                caller.listening.cancel()
                await asyncio.gather(caller.listening, return_exceptions=True)
