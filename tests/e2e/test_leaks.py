"""200 short calls leave nothing behind in the server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
from served import served
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from audio.pcm import AudioFormat, encode

CONFIG = Path(__file__).parents[1] / "bench/fixed.toml"
CALLS = 200
ROUNDS = 3
AT_ONCE = 10
LEAK_BYTES = 10_000
"""A call that leaves so much behind leaks: it is a fifth of a second of its sound."""


async def short_call(address: str, number: int) -> None:
    """A call that appends some sound and leaves in one of several ways, some of them in the middle of a
    response.
    """
    async with connect(f"ws://{address}/v1/realtime") as websocket:
        sound = encode(np.zeros(480, np.int16), AudioFormat.PCM_24K)

        append = json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(sound).decode()})
        for _ in range(10):
            await websocket.send(append)
        if number % 3:
            await websocket.send(json.dumps({"type": "response.create"}))
            async for message in websocket:
                if b"response.output_audio.delta" in (
                    message if isinstance(message, bytes) else message.encode()
                ):
                    break
        if number % 2:
            websocket.transport.abort()


async def admitted_call(address: str, number: int) -> None:
    """A call that is tried again as `Retry-After` says while the server refuses it: on a loaded machine its
    event loop lags, and it takes no more calls for a moment.
    """
    while True:
        try:
            return await short_call(address, number)
        except InvalidStatus as refused:
            if refused.response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                raise
            await asyncio.sleep(float(refused.response.headers["retry-after"]))


async def calls(address: str, count: int) -> None:
    """So many calls, some at once."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with limit:
            await admitted_call(address, number)

    await asyncio.gather(*(one(number) for number in range(count)))


async def settled(address: str) -> None:
    """Wait until no call is left."""
    async with httpx.AsyncClient() as client:
        async with asyncio.timeout(20):
            while (await client.get(f"http://{address}/health")).json()["calls"]:  # noqa: ASYNC110  no event
                await asyncio.sleep(0.1)


def footprint(server: psutil.Process) -> tuple[int, int, int]:
    """Threads, file descriptors and resident bytes."""
    return server.num_threads(), server.num_fds(), server.memory_info().rss


@pytest.mark.skipif(os.name != "posix", reason="file descriptors are counted on POSIX systems only")
async def test_two_hundred_short_calls_leave_nothing_behind():
    async with served(CONFIG) as address:
        (server,) = [
            process
            for process in psutil.Process().children(recursive=True)
            if "serve" in process.cmdline() and str(CONFIG) in process.cmdline()
        ]
        await calls(address, CALLS)
        await settled(address)
        footprints = [footprint(server)]
        for _ in range(ROUNDS):
            await calls(address, CALLS)
            await settled(address)
            footprints.append(footprint(server))
    threads, descriptors, memory = zip(*footprints, strict=True)
    assert threads[-1] <= threads[0] + 1
    assert descriptors[-1] <= descriptors[0] + 2
    # The allocator grows by leaps until it has settled; what leaks grows in every round.
    assert min(after - before for before, after in pairwise(memory)) < CALLS * LEAK_BYTES
