"""Faults of a soak test: failures of the server's processes, and misbehaving clients."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

import psutil  # type: ignore[import-untyped]  # ships no types

from voiceagent.bench.wires import TEXT, websocket_frame

FAULT_S = 60.0
"""Mean time between two faults."""
STOPPED_S = 2.0
"""Duration of a stop of a process."""
BAD_CLIENT_S = 2.0
"""Mean time between two misbehaving clients."""
_UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_REALTIME, _TWILIO = b"/v1/realtime?model=soak", b"/telephony/twilio"
_BAD_EVENTS = (
    b"{", b"[]", b'{"type": "no.such"}', b'{"type": "session.update", "session": {"type": 7}}',
    b'{"type": "input_audio_buffer.append", "audio": "%%"}', b'{"type": "response.cancel"}' * 2,
)  # fmt: skip


class ProcessFaults:
    """Kills, stops and slows down random processes of a server.

    began: called with the name and the duration in seconds of each fault as it begins.
    """

    def __init__(self, server: psutil.Process, random: Random, began: Callable[[str, float], None]) -> None:
        self._server = server
        self._random = random
        self._began = began

    async def run(self) -> None:
        """Cause one fault after the other, until cancelled."""
        while True:
            await asyncio.sleep(self._random.expovariate(1 / FAULT_S))
            parts = self._parts()
            if parts:
                await self._one(*self._random.choice(parts))

    def _parts(self) -> list[tuple[str, psutil.Process]]:
        """Return the processes that may be lost: engines and workers, not the supervisor."""
        with suppress(psutil.NoSuchProcess):
            named = [(" ".join(child.cmdline()), child) for child in self._server.children()]
            kinds = {"engine_process": "engine", "call_worker": "worker"}
            return [(kind, child) for line, child in named for key, kind in kinds.items() if key in line]
        return []

    async def _one(self, kind: str, process: psutil.Process) -> None:
        fault = self._random.choice(("killed", "hangs", "stopped", "slow"))
        with suppress(psutil.NoSuchProcess):
            if fault == "killed":
                self._began(f"{kind} killed", 0.0)
                process.kill()
            elif fault == "hangs":  # until it is detected, and killed
                self._began(f"{kind} hangs", 12.0)
                process.suspend()
            elif fault == "stopped":
                self._began(f"{kind} stopped", STOPPED_S)
                process.suspend()
                await asyncio.sleep(STOPPED_S)
                process.resume()
            else:
                self._began(f"{kind} slow", 5.0)
                for _ in range(25):
                    process.suspend()
                    await asyncio.sleep(0.15)
                    process.resume()
                    await asyncio.sleep(0.05)


class BadClients:
    """Misbehaving clients, one after the other. seen: number so far."""

    def __init__(self, host: str, port: int, random: Random) -> None:
        self._address = host, port
        self._random = random
        self.seen = 0

    async def run(self) -> None:
        """Run one client after the other, until cancelled."""
        kinds: tuple[Callable[[], Awaitable[None]], ...] = (
            self._leaves_at_once, self._half_a_request, self._noise, self._bad_events, self._reads_nothing,
            self._phone_without_a_start,
        )  # fmt: skip
        while True:
            await asyncio.sleep(self._random.expovariate(1 / BAD_CLIENT_S))
            with suppress(OSError):
                await self._random.choice(kinds)()
            self.seen += 1

    async def _leaves_at_once(self) -> None:
        await self._say(_UPGRADE % _REALTIME, 0.0)

    async def _half_a_request(self) -> None:
        await self._say(b"POST /v1/realtime/calls HTTP/1.1\r\nContent-Le", 1.0)

    async def _noise(self) -> None:
        await self._say(self._random.randbytes(2_000), 0.1)

    async def _bad_events(self) -> None:
        events = b"".join(websocket_frame(TEXT, event) for event in _BAD_EVENTS)
        await self._say(_UPGRADE % _REALTIME, 0.2, events)

    async def _phone_without_a_start(self) -> None:
        await self._say(_UPGRADE % _TWILIO, 0.2, websocket_frame(TEXT, b'{"event":"media"}'))

    async def _reads_nothing(self) -> None:
        asking = websocket_frame(TEXT, b'{"type":"response.create"}')
        await self._say(_UPGRADE % _REALTIME, 0.2, asking, 3.0)

    async def _say(self, first: bytes, wait_s: float, then: bytes = b"", stay_s: float = 0.2) -> None:
        _, writer = await asyncio.open_connection(*self._address, limit=1)
        try:
            writer.write(first)
            await asyncio.sleep(wait_s)
            if then:
                writer.write(then)
                await asyncio.sleep(stay_s)
        finally:
            writer.transport.abort()


def stop_for_good(process: psutil.Process) -> None:
    """Resume processes stopped by a fault, so that they can end."""
    for part in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            os.kill(part.pid, signal.SIGCONT)
