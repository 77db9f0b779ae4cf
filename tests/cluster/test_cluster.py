"""A local cluster under 40 calls: `make cluster-test`. Its figures are printed (pytest -s)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from cluster_callers import CALLS, ROOT, Callers, counted

sys.path.append(str(ROOT / "configs/cluster"))
from local_cluster import LocalCluster

pytestmark = [
    pytest.mark.skipif("VOICEAGENT_CLUSTER" not in os.environ, reason="left to `make cluster-test`"),
    pytest.mark.timeout(400),
]
ON_RAY = os.environ.get("VOICEAGENT_CLUSTER") != "processes" and importlib.util.find_spec("ray") is not None
PORT = int(os.environ.get("VOICEAGENT_CLUSTER_PORT", "18081"))
FIXED = ROOT / "tests/bench"
KINDS = ("cached", "prompt")
"""Of tokens, counted by turn."""


def write_gateway(folder: Path) -> Path:
    """The gateways' configuration with speech of fixed cost, so that two cores carry 40 calls."""
    shutil.copy(FIXED / "fixed_engines.py", folder)
    text = (ROOT / "configs/cluster/gateway.toml").read_text()
    recognizer = 'engine = "fixed_engines:FixedRecognizer"\n'
    synthesizer = 'engine = "fixed_engines:FixedSynthesizer"\n\n[turn]\nsilence_s = 0.2\n'
    text = text.replace('engine = "moonshine"\n', recognizer).replace('engine = "espeak"\n', synthesizer)
    path = folder / "template.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    running = LocalCluster(folder, PORT, write_gateway(folder), ray=ON_RAY)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
async def callers(cluster: LocalCluster) -> AsyncIterator[Callers]:
    found = Callers(addresses(cluster))
    await found.learn()
    yield found


def addresses(cluster: LocalCluster) -> list[str]:
    return [cluster.gateway_address(index) for index in range(2)]


async def replica_process(cluster: LocalCluster, index: int) -> int:
    async with httpx.AsyncClient(trust_env=False) as http:
        return int((await http.get(f"{cluster.replica_url(index)}/health")).json()["pid"])


async def until_replica(cluster: LocalCluster, index: int, other_than: int) -> None:
    """Wait until another process answers in its place."""
    async with asyncio.timeout(120):
        while True:
            with suppress(httpx.HTTPError, ValueError, KeyError):
                if await replica_process(cluster, index) != other_than:
                    return
            await asyncio.sleep(0.5)


def told(name: str, callers: Callers, **more: object) -> None:
    tally = callers.tally
    figures = {"turns": tally.turns, "missed": tally.missed, "broken": len(callers.crowd.broken)}
    late_ms = 1000 * sorted(callers.crowd.lateness_s)[int(0.99 * len(callers.crowd.lateness_s))]
    waits = sorted(tally.from_voice)
    p50, p95 = (round(waits[int(len(waits) * part)]) for part in (0.5, 0.95))
    print(
        json.dumps(
            {"test": name, **figures, "p50_ms": p50, "p95_ms": p95, "late_p99_ms": round(late_ms), **more}
        )
    )


async def test_requests_of_a_call_stay_at_one_replica(cluster: LocalCluster, callers: Callers) -> None:
    before = [await counted(addresses(cluster), f"voiceagent_{kind}_tokens_total") for kind in KINDS]
    async with callers.calling():
        await callers.talk(30)
    reasons = await counted(addresses(cluster), "voiceagent_llm_replica_requests_total")
    same = reasons["kept"] / (reasons.total() - reasons["placed"])
    after = [await counted(addresses(cluster), f"voiceagent_{kind}_tokens_total") for kind in KINDS]
    cached, prompt = ((now - was)[""] / callers.tally.turns for now, was in zip(after, before, strict=True))
    told(
        "affinity",
        callers,
        same=round(same, 4),
        cached=round(cached, 1),
        prompt=round(prompt, 1),
        **callers.at,
    )
    assert same >= 0.98
    assert callers.crowd.broken == [] and callers.tally.missed == 0
    assert min(callers.at[address] for address in addresses(cluster)) >= CALLS // 4


async def test_random_routing_finds_less_in_the_caches(cluster: LocalCluster) -> None:
    shutil.copy(FIXED / "random_llm.py", cluster.folder)
    # a gateway that is alone: the others would take some of its calls, and send none of theirs anywhere
    text = re.sub(r"\[cluster\][^[]*", "", (cluster.folder / "gateway.toml").read_text())
    before, _, rest = text.partition("[llm]")
    urls = [cluster.replica_url(index) + "/v1" for index in range(2)]
    table = f'[llm]\nengine = "random_llm:RandomLlm"\nurls = {json.dumps(urls)}\n\n[priority]'
    config = cluster.folder / "random.toml"
    config.write_text(before + table + rest.partition("[priority]")[2])
    await asyncio.to_thread(cluster.start_gateway, 2, config)
    callers = Callers([cluster.gateway_address(2)])
    await callers.learn()
    async with callers.calling():
        await callers.talk(30)
    pages = [await counted([cluster.gateway_address(2)], f"voiceagent_{kind}_tokens_total") for kind in KINDS]
    cached, prompt = (round(page[""] / callers.tally.turns, 1) for page in pages)
    told("random", callers, cached=cached, prompt=prompt)
    await asyncio.to_thread(cluster.end, "gateway-2")


async def test_every_call_goes_on_when_a_replica_is_killed(cluster: LocalCluster, callers: Callers) -> None:
    async with callers.calling():
        await callers.talk(6)
        killed = await replica_process(cluster, 0)
        os.kill(killed, signal.SIGKILL)
        await callers.talk(14)
    told("replica killed", callers)
    assert callers.crowd.broken == [] and callers.tally.missed == 0
    if not ON_RAY:  # which starts it again
        cluster.processes.pop("llm-0").wait()
        await asyncio.to_thread(cluster.start_llm, 0)
    await until_replica(cluster, 0, killed)


async def test_a_killed_gateway_ends_its_calls_alone_and_they_come_again(
    cluster: LocalCluster, callers: Callers
) -> None:
    one, other = addresses(cluster)
    async with callers.calling():
        await callers.talk(4)
        async with httpx.AsyncClient(trust_env=False) as http:
            there = (await http.get(f"http://{one}/load")).json()["calls"]
        before = callers.at[other]
        cluster.processes.pop("gateway-0").kill()
        await callers.talk(16)
    came_again = callers.at[other] - before
    await asyncio.to_thread(cluster.start_gateway, 0)  # for the next test, whatever is found here
    told("gateway killed", callers, calls_there=there, came_again=came_again)
    assert came_again >= there * 0.9
    assert abs(len(callers.crowd.broken) - there) <= 2  # some hang up or call in this very moment
    assert callers.tally.missed == 0


async def drain(cluster: LocalCluster, name: str) -> None:
    """End a process as a deploy does: it runs until its work is done."""
    process = cluster.processes.pop(name)
    process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(process.wait, 200)


async def test_everything_is_restarted_and_no_call_notices(cluster: LocalCluster, callers: Callers) -> None:
    async with callers.calling():
        before = [await replica_process(cluster, index) for index in range(2)]
        if ON_RAY:
            cluster.processes["llm"].send_signal(signal.SIGHUP)
        for index in range(2):
            if not ON_RAY:
                await drain(cluster, f"llm-{index}")
                await asyncio.to_thread(cluster.start_llm, index)
            await until_replica(cluster, index, before[index])
        await drain(cluster, "redis")
        await asyncio.to_thread(cluster.start_redis)
        for index in range(2):
            await drain(cluster, f"gateway-{index}")
            await asyncio.to_thread(cluster.start_gateway, index)
        await callers.talk(5)
    told("rolling restart", callers, refused=callers.refused)
    assert callers.crowd.broken == [] and callers.tally.missed == 0
