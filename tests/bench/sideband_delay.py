"""Delay of a sideband's events against those of the call's own client, with many calls at once.

python tests/bench/sideband_delay.py --calls 50 --workers 1
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fixed_config import write_config
from served import served

PATIENCE_S = 60.0
ASK = '{"type":"response.create"}'


class Arrivals:
    """Arrival times of one connection's events, by type and count of earlier events of that type."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._counts: dict[str, int] = defaultdict(int)
        self.at_s: dict[tuple[str, int], float] = {}
        self.done = asyncio.Event()

    async def read(self) -> None:
        try:
            async for message in self._connection:
                now_s = time.perf_counter()
                # audio is not parsed: that would delay the reading of later events
                if message.startswith('{"type":"response.output_audio.delta"'):  # type: ignore[arg-type]
                    continue
                kind = json.loads(message)["type"]
                self.at_s[kind, self._counts[kind]] = now_s
                self._counts[kind] += 1
                if kind == "response.done":
                    self.done.set()
        except ConnectionClosed:
            pass


async def call(url: str, until_s: float) -> list[float]:
    """Request responses in one call until `until_s`. Return the delays of its sideband's events, in ms."""
    async with connect(url, compression=None, max_size=None, proxy=None) as own:
        call_id = json.loads(await own.recv())["session"]["id"]
        async with connect(f"{url}?call_id={call_id}", compression=None, proxy=None) as sideband:
            await sideband.recv()
            first, second = Arrivals(own), Arrivals(sideband)
            reading = [asyncio.create_task(one.read()) for one in (first, second)]
            while time.perf_counter() < until_s:
                await own.send(ASK)
                async with asyncio.timeout(PATIENCE_S):
                    await asyncio.gather(first.done.wait(), second.done.wait())
                first.done.clear()
                second.done.clear()
        await own.close()
        await asyncio.gather(*reading)
    shared = first.at_s.keys() & second.at_s.keys()
    return [1000 * (second.at_s[event] - first.at_s[event]) for event in shared]


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--calls", type=int, default=50)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seconds", type=float, default=20.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = f"workers = {given.workers}\nmax_calls = {given.calls}\nmax_loop_lag_ms = 10_000"
        config = write_config(Path(folder), lines)
        async with served(config) as address:
            until_s = time.perf_counter() + given.seconds
            url = f"ws://{address}/v1/realtime"
            found = await asyncio.gather(*(call(url, until_s) for _ in range(given.calls)))
    behind_ms = np.array([one for calls in found for one in calls])
    p50, p95, p99 = np.percentile(behind_ms, (50, 95, 99))
    print(
        f"{given.calls} calls, {given.workers} workers, {len(behind_ms)} events: the sideband's are "
        f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms behind"
    )


if __name__ == "__main__":
    asyncio.run(main())
