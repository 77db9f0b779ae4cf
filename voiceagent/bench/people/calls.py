"""Recordings in real-time calls to a server in a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import uvloop

from voiceagent.bench.calls import Protocol, wire_of
from voiceagent.bench.crowd import Connection
from voiceagent.bench.people.material import Clip
from voiceagent.bench.people.offline import Done
from voiceagent.bench.people.outcome import Outcome
from voiceagent.bench.people.speaker import Speaker
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.webrtc_connection import PERFECT, Line, connect_webrtc
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import TwilioWire, WebRtcWire, Wire, frames_of
from voiceagent.config.tables import Config

ROUND_S = 0.005
"""Maximum delay of a frame."""
STAGGER_S = 0.37
"""Seconds between the starts of two calls."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Parameters of the calls. over: protocol. at_once: concurrent calls. line: losses of WebRTC packets."""

    over: Protocol
    at_once: int = 2
    line: Line = PERFECT


def run_calls(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    """Call with each recording and return the outcomes. server: command of another server than ours.

    Raises CommandFailed.
    """
    return uvloop.run(_run(config, calls, server, clips, done))


async def _run(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    wire = wire_of(config, calls.over, calls.line.loss)
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


async def _call(server: ServerProcess, wire: Wire, calls: Calls, clip: Clip) -> Outcome:
    clock = time.monotonic
    address = (server.host, server.port)
    connect: Callable[[], Awaitable[Connection]] = partial(connect_websocket, wire, address, clock)
    if isinstance(wire, WebRtcWire):
        connect = partial(connect_webrtc, wire, address, clock, calls.line)
    frames = frames_of(wire, clip.sound)
    silence = frames_of(wire, np.zeros(1, np.int16))[0]
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
