"""The LLM has two replicas in processes of their own, of which one is killed while it answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from chat_process import ChatProcess, chat_process
from fault_calls import FaultCaller, calling, health
from faulty_server import FaultyServer, faulty_server_beside
from prometheus_client.parser import text_string_to_metric_families

CALLS = 8
WORD_S = "0.05"


@pytest.fixture
def replicas() -> Iterator[list[ChatProcess]]:
    with chat_process(WORD_S) as one, chat_process(WORD_S) as other:
        yield [one, other]


@pytest.fixture
async def server(tmp_path: Path, replicas: list[ChatProcess]) -> AsyncIterator[FaultyServer]:
    urls = [replica.base_url for replica in replicas]
    table = f'[llm]\nengine = "openai"\nmodel = "m"\nreplicas = {urls}\napi_key_env = ""\n'

    def with_replicas(text: str) -> str:
        before, _, rest = text.partition("[llm]")
        return f"{before}{table}\n{rest[rest.index('[synthesizer]') :]}"

    async with faulty_server_beside(tmp_path, change=with_replicas) as server:
        yield server


async def routed(server: FaultyServer) -> Counter[tuple[str, str]]:
    """Requests by replica and by why they went there."""
    async with httpx.AsyncClient(trust_env=False) as http:
        page = (await http.get(f"http://{server.address}/metrics")).text
    return Counter(
        {
            (sample.labels["replica"], sample.labels["reason"]): int(sample.value)
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == "voiceagent_llm_replica_requests_total"
        }
    )


async def begin(callers: list[FaultCaller]) -> None:
    """Have all ask at once, and wait until one of them is being answered."""
    await asyncio.gather(*(caller.ask() for caller in callers))
    await callers[0].until("response.output_audio_transcript.delta")


async def answers(callers: list[FaultCaller]) -> set[str]:
    """The different texts that they are answered."""
    outcomes = await asyncio.gather(*(caller.outcome() for caller in callers))
    assert outcomes == ["completed"] * len(callers)
    return {" ".join(caller.said.split()) for caller in callers}


async def test_a_killed_replica_costs_no_call_a_word(
    server: FaultyServer, replicas: list[ChatProcess]
) -> None:
    async with AsyncExitStack() as calls:
        callers = [await calls.enter_async_context(calling(server.address)) for _ in range(CALLS)]
        await begin(callers)
        whole = await answers(callers)
        await begin(callers)
        assert await answers(callers) == whole
        before = await routed(server)
        assert {reason for _, reason in before} == {"placed", "kept"}  # no request went elsewhere
        assert {replica for replica, _ in before} == {replica.base_url for replica in replicas}

        await begin(callers)
        replicas[0].process.kill()
        assert await answers(callers) == whole
        assert len(whole) == 1
        assert replicas[0].base_url in (await health(server.address))["degraded"]["llm"]
        moved = (await routed(server))[replicas[1].base_url, "moved"]
        placed = before[replicas[0].base_url, "placed"]
        assert moved in (placed, placed - 1)  # the server's own warm-up does not ask again
