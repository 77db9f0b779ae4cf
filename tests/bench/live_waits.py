"""Waits of the Live API against the Realtime API's on the same engines, one server, calls in turn.

`python tests/bench/live_waits.py [rounds]` prints, as JSON, the median wait in ms from the caller's last
voiced sample to the first sound, over WebSocket and WebRTC, its ratio between the APIs with an interval of
95 %, and the longest silence while a client answers a delegation after 2 s: by commentary, and by the output
of a function of the delegation `responses`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

import httpx  # noqa: E402
from recordings import recorded  # noqa: E402
from rtc_caller import RATE_HZ, LiveRtcCaller, RtcCaller  # noqa: E402
from served import served, serving_tools  # noqa: E402
from websockets.asyncio.client import ClientConnection, connect  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from voiceagent.bench.speech import voice_end_s  # noqa: E402

HZ = 24_000
FRAME = 480
AUDIBLE = 200
"""Amplitude of a sample that is heard."""
DELEGATED_S = 2.0
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
DELEGATIONS: dict[str, dict[str, Any]] = {
    "client": {"type": "client"},
    "responses": {"type": "responses", "responses": {"model": "m", "tools": [WEATHER]}},
}
APPEND = {"realtime": "input_audio_buffer.append", "live": "session.input_audio.append"}
SOUND = {"realtime": "response.output_audio.delta", "live": "session.output_audio.delta"}


async def speak(socket: ClientConnection, kind: str, voice: Samples) -> float:
    """Say something and fall silent, in real time. Return the time of the last voiced sample."""
    began_s = time.monotonic()
    sound = np.concatenate([voice, np.zeros(6 * HZ, np.int16)])
    for number, at in enumerate(range(0, len(sound), FRAME), 1):
        data = base64.b64encode(sound[at : at + FRAME].tobytes()).decode()
        await socket.send(json.dumps({"type": APPEND[kind], "audio": data}))
        await asyncio.sleep(max(0.0, began_s + number * FRAME / HZ - time.monotonic()))
    return began_s + voice_end_s(voice, HZ)


async def websocket_wait(address: str, kind: str) -> float:
    """Return the wait in seconds of one turn over WebSocket."""
    path = "/v1/realtime" if kind == "realtime" else "/v1/live/sessions"
    voice = recorded("goforward.wav", HZ)
    async with connect(f"ws://{address}{path}") as socket:
        if kind == "live":
            await socket.send(json.dumps({"type": "session.start", "session": {"model": "m"}}))
        await socket.recv()
        began_s = time.monotonic()
        talk = asyncio.create_task(speak(socket, kind, voice))
        try:
            async for message in socket:
                event = json.loads(message)
                if event["type"] == SOUND[kind]:
                    return time.monotonic() - began_s - voice_end_s(voice, HZ)
        finally:
            talk.cancel()
    raise AssertionError("the call ended without sound")


async def webrtc_wait(address: str, kind: str) -> float:
    """Return the wait in seconds of one turn over WebRTC."""
    voice = recorded("goforward.wav", RATE_HZ)
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
        caller = RtcCaller(http) if kind == "realtime" else LiveRtcCaller(http)
        try:
            await caller.connect({"model": "m"} if kind == "live" else None)
            await caller.microphone.say(np.zeros(RATE_HZ // 2, np.int16))
            began_s = time.monotonic()
            talk = asyncio.create_task(
                caller.microphone.say(np.concatenate([voice, np.zeros(5 * RATE_HZ, np.int16)]))
            )
            while not any(np.abs(frame.astype(np.int32)).max() > AUDIBLE for frame in caller.frames[-5:]):  # noqa: ASYNC110
                await asyncio.sleep(0.005)  # the frames have no event
            talk.cancel()
            return time.monotonic() - began_s - voice_end_s(voice, RATE_HZ)
        finally:
            await caller.peer.close()
            if caller.listening is not None:
                caller.listening.cancel()


def answers(event: dict[str, Any], result: str = "sunny") -> list[dict[str, Any]]:
    """Return the client's answer to an event, if it delegates work."""
    if event["type"] == "session.delegation.created" and event["delegation"]["target"] == "client":
        about = {"content": result, "delegation_id": event["delegation"]["id"]}
        return [{"type": "session.commentary.append", **about}]
    item = event.get("event", {}).get("item") or {}
    if item.get("type") != "function_call" or event["event"]["type"] != "response.output_item.done":
        return []
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": result}
    return [{"type": "response.item.create", "item": output}, {"type": "response.create"}]


def heard_span(delta: str, now_s: float, heard: list[tuple[float, float]]) -> tuple[float, float]:
    """Return when a caller hears a chunk, begin and end in seconds. heard: the chunks before it."""
    begin_s = max(now_s, heard[-1][1] if heard else now_s)
    return begin_s, begin_s + len(base64.b64decode(delta)) / 2 / HZ


async def longest_silence(address: str, delegation: str) -> float:
    """Return the longest silence in seconds from the caller's end to the delegated answer, over WebSocket."""
    voice = recorded("goforward.wav", HZ)
    heard: list[tuple[float, float]] = []
    async with connect(f"ws://{address}/v1/live/sessions") as socket:
        session = {"model": "m", "delegation": DELEGATIONS[delegation]}
        await socket.send(json.dumps({"type": "session.start", "session": session}))
        await socket.recv()
        ended_s = time.monotonic() + voice_end_s(voice, HZ)
        talk = asyncio.create_task(speak(socket, "live", voice))
        answering: list[asyncio.Task[None]] = []
        said = ""

        async def answer(events: list[dict[str, Any]]) -> None:
            await asyncio.sleep(DELEGATED_S)
            for event in events:
                await socket.send(json.dumps(event))

        async for message in socket:
            event = json.loads(message)
            if answered := answers(event):
                answering.append(asyncio.create_task(answer(answered)))
            match event["type"]:
                case "session.output_audio.delta":
                    heard.append(heard_span(event["delta"], time.monotonic(), heard))
                case "session.output_transcript.delta":
                    said += event["delta"]
                    if "sunny" in said:
                        break
        talk.cancel()
    ends_s = [ended_s, *(end for _, end in heard)]
    return max(begin - end for (begin, _), end in zip(heard, ends_s, strict=False))


def ratio(live: list[float], realtime: list[float]) -> dict[str, float]:
    """Return the ratio of the medians, and the interval of 95 % of 10,000 resamplings of the rounds."""
    drawn = np.random.default_rng(1).integers(0, len(live), (10_000, len(live)))
    ratios = np.median(np.array(live)[drawn], axis=1) / np.median(np.array(realtime)[drawn], axis=1)
    low, high = np.percentile(ratios, (2.5, 97.5))
    of_all = statistics.median(live) / statistics.median(realtime)
    return {"ratio": round(of_all, 3), "low": round(float(low), 3), "high": round(float(high), 3)}


async def measure(rounds: int) -> dict[str, Any]:
    """Return the figures of so many rounds."""
    waits: dict[str, list[float]] = {}
    async with served(TESTS / "bench/fixed.toml") as address:
        for number in range(rounds):
            order = ("realtime", "live") if number % 2 == 0 else ("live", "realtime")
            for name, wait in (("websocket", websocket_wait), ("webrtc", webrtc_wait)):
                for kind in order:
                    waits.setdefault(f"{name} {kind}", []).append(await wait(address, kind))
    with tempfile.TemporaryDirectory() as folder:
        async with serving_tools(Path(folder), "live_engine:LiveLlm") as address:
            silences = {
                kind: max([await longest_silence(address, kind) for _ in range(rounds)])
                for kind in DELEGATIONS
            }
    medians = {name: round(statistics.median(each) * 1000) for name, each in waits.items()}
    ratios = {
        name: ratio(waits[f"{name} live"], waits[f"{name} realtime"]) for name in ("websocket", "webrtc")
    }
    return {
        "wait_p50_ms": medians,
        "live_to_realtime": ratios,
        "longest_silence_ms": {kind: round(silence * 1000) for kind, silence in silences.items()},
        "rounds": rounds,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)), indent=1))
