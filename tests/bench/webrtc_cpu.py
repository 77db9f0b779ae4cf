"""Measure the CPU of one WebRTC call, listening and speaking, against a server without calls.

python tests/bench/webrtc_cpu.py [CALLS]

The server has engines of fixed cost (tests/bench/fixed.toml): what is left is transport, voice detection and
playout. It has the first core to itself. The callers send what Chromium sends, from another core; their own
work does not count.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import numpy as np

from audio.pcm import Samples
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.webrtc_connection import PERFECT, WebRtcConnection
from voiceagent.bench.wires import WebRtcWire
from voiceagent.transports.webrtc.media import FRAME_TICKS

ROOT = Path(__file__).parents[2]
CORE = 0
SPAN_S = 10.0
FRAME_S = 0.02
FRAMES = 250
NOISE = 330
"""Root mean square, 40 dB below full scale: loud enough to be listened to, and no voice."""


class Callers:
    """Calls that are up. frames: what each of them sends, over and over."""

    def __init__(self, frames: list[bytes]) -> None:
        self.frames = frames
        self.connections: list[WebRtcConnection] = []
        self._answered: list[asyncio.Event] = []

    async def call(self, wire: WebRtcWire, address: tuple[str, int]) -> None:
        """Make another call."""
        connection, answered = WebRtcConnection(wire, time.monotonic, PERFECT), asyncio.Event()

        def on_message(text: str) -> None:
            if '"response.done"' in text:
                answered.set()

        connection._channel.on("message", on_message)
        await connection.open(address)
        self.connections.append(connection)
        self._answered.append(answered)

    async def send(self) -> None:
        """Send frames, each caller at its own moment of the 20 ms, until cancelled."""
        loop = asyncio.get_running_loop()
        began_s, spacing_s = loop.time(), FRAME_S / len(self.connections)
        for number in count():
            for place, connection in enumerate(self.connections):
                due_s = began_s + number * FRAME_S + place * spacing_s
                await asyncio.sleep(max(0.0, due_s - loop.time()))
                connection._send(self.frames[number % FRAMES], number * FRAME_TICKS, not number)

    async def have_all_answered(self) -> None:
        """Have all agents speak, one response after the other."""
        until_s = time.monotonic() + SPAN_S

        async def talk(connection: WebRtcConnection, answered: asyncio.Event) -> None:
            while time.monotonic() < until_s:
                answered.clear()
                connection._channel.send(json.dumps({"type": "response.create"}))
                await answered.wait()

        await asyncio.gather(*map(talk, self.connections, self._answered))

    async def hang_up(self) -> None:
        """End the calls."""
        for connection in self.connections:
            connection.hang_up()
        await asyncio.gather(*(one._closing for one in self.connections if one._closing is not None))


async def main(calls: int) -> None:
    """Print the share of a core for each call."""
    wire = WebRtcWire(0.2)
    silence = _frames(wire, np.zeros(FRAMES * 320, np.int16))
    noise = _frames(wire, np.random.default_rng(1).normal(0, NOISE, FRAMES * 320).astype(np.int16))
    callers = Callers(silence)
    async with served(serve_command(ROOT / "tests/bench/fixed.toml", calls, 1), CORE) as server:
        idle = await _share(server, lambda: asyncio.sleep(SPAN_S))
        for _ in range(calls):
            await callers.call(wire, (server.host, server.port))
        sending = asyncio.create_task(callers.send())
        await asyncio.sleep(2)
        shares = {"listening to silence": await _share(server, lambda: asyncio.sleep(SPAN_S))}
        shares["speaking"] = await _share(server, callers.have_all_answered)
        callers.frames = noise
        await asyncio.sleep(1)
        shares["listening to a room's noise"] = await _share(server, lambda: asyncio.sleep(SPAN_S))
        sending.cancel()
        await callers.hang_up()
    for name, share in shares.items():
        print(f"{name}: {(share - idle) / calls * 100:.2f} % of a core a call, {calls} calls")


def _frames(wire: WebRtcWire, sound: Samples) -> list[bytes]:
    return [wire.frame(frame) for frame in sound.reshape(FRAMES, -1)]


async def _share(server: ServerProcess, act: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of the server a second while `act` runs."""
    began_s, before_s = time.monotonic(), server.cpu_s()
    await act()
    return (server.cpu_s() - before_s) / (time.monotonic() - began_s)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
