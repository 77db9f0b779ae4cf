"""CPU that one WebRTC call costs the server, listening and speaking, beside a server without calls.

python tests/bench/webrtc_cpu.py [CALLS]

The server has engines of fixed cost (tests/bench/fixed.toml): what is left is transport, voice detection and
playout. The callers' own work is in this process and does not count.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import psutil

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from rtc_caller import FRAME, RtcCaller, rtc_calling  # noqa: E402
from served import served  # noqa: E402

SPAN_S = 10.0
ROOM = np.random.default_rng(1).normal(0, 330, FRAME).astype(np.int16)
"""Noise 40 dB below full scale: loud enough to be listened to, and no voice."""


async def main(count: int) -> None:
    """Print the share of a core for each call."""
    serving = served(ROOT / "tests/bench/fixed.toml", options=("--max-calls", str(count)))
    async with serving as address, AsyncExitStack() as stack:
        (server,) = [each for each in psutil.Process().children() if "serve" in each.cmdline()]
        idle = await _share(server, lambda: asyncio.sleep(SPAN_S))
        callers = [await stack.enter_async_context(rtc_calling(address)) for _ in range(count)]
        await asyncio.sleep(2)
        silent = await _share(server, lambda: asyncio.sleep(SPAN_S))
        speaking = await _share(server, lambda: _speak(callers))
        for caller in callers:
            caller.microphone.room = ROOM
        noisy = await _share(server, lambda: asyncio.sleep(SPAN_S))
    shares = {"listening to silence": silent, "listening to a room's noise": noisy, "speaking": speaking}
    for name, share in shares.items():
        print(f"{name}: {(share - idle) / count * 100:.2f} % of a core a call, {count} calls")


async def _speak(callers: list[RtcCaller]) -> None:
    """Have all agents speak, one reply after the other."""
    until_s = asyncio.get_running_loop().time() + SPAN_S

    async def talk(caller: RtcCaller) -> None:
        while asyncio.get_running_loop().time() < until_s:
            done = len(caller.of("response.done"))
            caller.send(type="response.create")
            await caller.until("response.done", done + 1)

    await asyncio.gather(*(talk(caller) for caller in callers))


async def _share(server: psutil.Process, act: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of the server a second while `act` runs."""
    loop = asyncio.get_running_loop()
    before, began_s = server.cpu_times(), loop.time()
    await act()
    after = server.cpu_times()
    return (after.user + after.system - before.user - before.system) / (loop.time() - began_s)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
