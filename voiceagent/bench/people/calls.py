"""Recordings in calls at the pace of real time, to a server in a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import uvloop

from audio.pcm import Samples
from audio.resample import resample
from voiceagent.bench.caller import FRAME_S
from voiceagent.bench.crowd import Connection
from voiceagent.bench.people.material import Clip
from voiceagent.bench.people.offline import Done
from voiceagent.bench.people.outcome import Outcome
from voiceagent.bench.people.speaker import Speaker
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.webrtc_connection import PERFECT, Line, connect_webrtc
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import RealtimeWire, TwilioWire, WebRtcWire, Wire
from voiceagent.config.tables import Config
from voiceagent.transports.local_call import FORMAT

Protocol = Literal["realtime", "twilio", "webrtc"]
ROUND_S = 0.005
"""Frames are sent so late at most."""
STAGGER_S = 0.37
"""Calls begin so far apart."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How the recordings call. over: the protocol. at_once: calls. line: what WebRTC packets go over."""

    over: Protocol
    at_once: int = 2
    line: Line = PERFECT


def run_calls(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    """What comes of each recording in a call of its own. server: what runs another server than ours.

    Raises CommandFailed.
    """
    return uvloop.run(_run(config, calls, server, clips, done))


async def _run(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    wire = _wire(config, calls.over)
    command = server or serve_command(config.source, calls.at_once, workers=1)
    async with served(command, None) as process:
        waiting = list(enumerate(clips))[::-1]
        outcomes: dict[int, Outcome] = {}

        async def one_after_the_other(begin_s: float) -> None:
            await asyncio.sleep(begin_s)
            while waiting:
                index, clip = waiting.pop()
                outcomes[index] = await _call(process, wire, calls, clip)
                done(clip)

        await asyncio.gather(*(one_after_the_other(STAGGER_S * index) for index in range(calls.at_once)))
    return [outcomes[index] for index in range(len(clips))]


def _wire(config: Config, over: Protocol) -> Wire:
    if over == "twilio":
        return TwilioWire()
    silence_s = config.turn.silence_s if config.turn.detection == "server_vad" else 0.0
    return WebRtcWire(silence_s) if over == "webrtc" else RealtimeWire(silence_s)


async def _call(server: ServerProcess, wire: Wire, calls: Calls, clip: Clip) -> Outcome:
    clock = time.monotonic
    address = (server.host, server.port)
    connect: Callable[[], Awaitable[Connection]] = partial(connect_websocket, wire, address, clock)
    if isinstance(wire, WebRtcWire):
        connect = partial(connect_webrtc, wire, address, clock, calls.line)
    frames = _frames(wire, clip.sound)
    silence = _frames(wire, np.zeros(round(FRAME_S * FORMAT.rate_hz), np.int16))[0]
    connection = await connect()
    speaker = Speaker(clip, frames, silence, clock(), clock, tells=not isinstance(wire, TwilioWire))
    connection.caller = speaker
    try:
        while not speaker.finished and not connection.failure:
            await asyncio.sleep(ROUND_S)
            connection.speak(clock())
    finally:
        connection.hang_up()
    return speaker.outcome(connection.failure)


def _frames(wire: Wire, sound: Samples) -> list[bytes]:
    """Sound [n] at 24 kHz as messages of 20 ms; what is left of the last is silence."""
    sound = resample(sound, FORMAT.rate_hz, wire.format.rate_hz)
    frame_samples = round(FRAME_S * wire.format.rate_hz)
    padded = np.pad(sound, (0, -len(sound) % frame_samples))
    return [wire.frame(frame) for frame in padded.reshape(-1, frame_samples)]
