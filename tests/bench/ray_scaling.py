"""Drive Ray's autoscaler with calls, between one and three replicas of the LLM, and print its decisions.

Two gateways with a Redis, typing callers, replicas of known speed in `scaled` of `ray_llm.py`; each
number of replicas is printed with the one that the formula gives. Needs Ray: pip install -e '.[cluster]'.

    python tests/bench/ray_scaling.py [seconds a step]
"""

# ruff: noqa: E402
from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import ray
from ray import serve
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT), str(ROOT / "configs/cluster")]
import ray_llm
from cluster_run import GATEWAY, REPLICA, Measured, TypingCaller, limits, write_engines
from local_cluster import LocalCluster

from voiceagent.cluster.placing import needed

PORT, SERVE_PORT = 18281, 18290
EACH, RESERVE = 10, 2
STEPS = (4, 14, 26, 3)
"""Calls at once, one after the other."""
DOWN_S = 10.0


class Callers:
    """As many calls as are wanted, over two gateways in turn."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses
        self._calls: list[asyncio.Task[None]] = []
        self.measured = Measured()

    async def want(self, calls: int) -> None:
        """Have so many go on; the oldest end."""
        while len(self._calls) < calls:
            address = self._addresses[len(self._calls) % len(self._addresses)]
            self._calls.append(asyncio.create_task(self._call(address)))
        for task in self._calls[calls:]:
            task.cancel()
        await asyncio.gather(*self._calls[calls:], return_exceptions=True)
        del self._calls[calls:]

    def fail_if_one_did(self) -> None:
        """Raise what ended a call."""
        for task in self._calls:
            if task.done():
                task.result()

    async def _call(self, address: str) -> None:
        """One that is refused comes again, as a phone provider's does: replicas may be too few as yet."""
        while True:
            try:
                async with connect(f"ws://{address}/v1/realtime?model=bench", compression=None) as connection:
                    await self._talk(TypingCaller(connection, self.measured))
            except InvalidStatus as refused:
                assert refused.response.status_code == 503, refused
                self.measured.refused += 1
                await asyncio.sleep(1.0)

    async def _talk(self, caller: TypingCaller) -> None:
        await caller.begin()
        while True:
            await caller.turn(60, 20)
            await asyncio.sleep(3.0)


def serving(folder: Path, redis_url: str) -> None:
    """Start Ray, and one application of one replica."""
    arguments = ray_llm.ScaledArguments(
        config=str(folder / "replica.toml"),
        redis_url=redis_url,
        calls_a_replica=EACH,
        reserve_calls=RESERVE,
        max_replicas=3,
        upscale_delay_s=2.0,
        downscale_delay_s=DOWN_S,
        num_cpus=0.5,
    )
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "configs/cluster"), str(folder)])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    serve.start(http_options={"host": "127.0.0.1", "port": SERVE_PORT})
    serve.run(ray_llm.scaled(arguments), name="llm", route_prefix="/llm")


def replicas() -> dict[str, int]:
    """Return the number of replicas by state."""
    (deployment,) = serve.status().applications["llm"].deployments.values()
    return {str(state): count for state, count in deployment.replica_states.items() if count}


async def watched(callers: Callers, step_s: float) -> None:
    """Print calls, the formula and replicas, once a second where one has changed."""
    began_s, before = time.monotonic(), ""
    for calls in STEPS:
        await callers.want(calls)
        until_s = time.monotonic() + step_s
        while time.monotonic() < until_s:
            formula = min(3, needed(calls, RESERVE, EACH))
            now = f"{calls:>3} calls, ceil(({calls} + {RESERVE}) / {EACH}) = {formula}, {replicas()}"
            if now != before:
                print(f"{time.monotonic() - began_s:6.0f} s {now}", flush=True)
            before = now
            callers.fail_if_one_did()
            await asyncio.sleep(1.0)
    await callers.want(0)
    measured = callers.measured
    print(
        f"{len(measured.ttft_s)} turns, {len(measured.failed)} failed; {measured.refused} refusals;"
        f" of {measured.prompt} tokens of calls' own {measured.cached} were cached"
    )


async def main(step_s: float) -> None:
    """Run it."""
    with tempfile.TemporaryDirectory(prefix="scaling") as name:
        folder = Path(name)
        write_engines(folder)
        (folder / "replica.toml").write_text(
            REPLICA.format(prefill_tokens_s=1500.0, token_s=0.03, cache_tokens=100_000)
        )
        url = f"http://127.0.0.1:{SERVE_PORT}/llm/v1"
        llm = f'engine = "openai"\nmodel = "known"\napi_key_env = ""\nprefix_cache = true\nbase_url = "{url}"'
        template = folder / "template.toml"
        template.write_text(GATEWAY.format(llm=llm, **limits()))
        cluster = LocalCluster(folder, PORT, template, folder / "replica.toml")
        try:
            cluster.start_redis()
            serving(folder, cluster.redis_url)
            for index in range(2):
                cluster.start_gateway(index)
            await watched(Callers([cluster.gateway_address(index) for index in range(2)]), step_s)
        finally:
            cluster.stop()
            serve.shutdown()
            ray.shutdown()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 45.0))
