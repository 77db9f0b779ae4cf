"""The LLM is another server, which refuses, hangs, breaks off, stalls, is slow, or talks nonsense."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fault_calls import LONG, PATIENCE_S, WITHIN_S, calling, counted, health, until_healthy
from faulty_llm import WORDS, FaultyLlm, Mode, faulty_llm
from faulty_server import FaultyServer, faulty_server

FALLBACK = "This is the other engine."
WITH_FALLBACK = f'[fallback]\nengine = "served_engines:FixedLlm"\nresponse = "{FALLBACK}"\n'
TIMEOUTS = """
[timeouts]
first_token_s = 1.0
"""
CONSTANTS = {
    "voiceagent.engines.timeouts:TimeoutsConfig.min_token_s": 1.0,
    "voiceagent.llm.config:ResilienceConfig.failures": 2,
}


@pytest.fixture(scope="module")
def llm() -> Iterator[FaultyLlm]:
    with faulty_llm() as llm:
        yield llm


@contextmanager
def server_of(llm: FaultyLlm, folder: Path, more: str = "", *options: str) -> Iterator[FaultyServer]:
    engine = f'engine = "openai"\nmodel = "m"\nbase_url = "{llm.base_url}"\napi_key_env = ""\nretries = 0\n'

    def with_llm(text: str) -> str:
        before, _, rest = text.partition("[llm]")
        return f"{before}[llm]\n{engine}{TIMEOUTS}{more}{rest[rest.index('[synthesizer]') :]}"

    with faulty_server(folder, "", *options, constants=CONSTANTS, change=with_llm) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, llm: FaultyLlm) -> Iterator[FaultyServer]:
    """One for all tests, which leave it well."""
    with server_of(llm, tmp_path_factory.mktemp("upstream")) as server:
        yield server


@pytest.fixture(scope="module")
def server_with_fallback(tmp_path_factory: pytest.TempPathFactory, llm: FaultyLlm) -> Iterator[FaultyServer]:
    with server_of(llm, tmp_path_factory.mktemp("fallback"), WITH_FALLBACK) as server:
        yield server


@pytest.fixture
async def turns_before(server: FaultyServer, llm: FaultyLlm) -> Counter[str]:
    """Return the server's count of turns by outcome before the test."""
    llm.mode = "well"
    return Counter(await counted(server.address, "voiceagent_turns_total"))


@pytest.mark.parametrize(
    "mode",
    [
        "429",
        "hang",
        "half a stream",
        *(pytest.param(mode, marks=LONG) for mode in ("500", "stall", "garbage")),
    ],
)
async def test_a_turn_that_the_llm_fails_ends_in_an_apology(
    server: FaultyServer, turns_before: Counter[str], llm: FaultyLlm, mode: Mode
) -> None:
    async with calling(server.address) as caller, calling(server.address) as other:
        llm.mode = mode
        assert await caller.turn() == "failed"
        assert caller.said.endswith("Could you say that again? ")
        assert "secret" not in caller.said
        llm.mode = "well"
        assert await other.answered_again_or_ended() == "completed"
        assert await caller.answered_again_or_ended() == "completed"
        assert await counted(server.address, "voiceagent_turns_total") == (
            turns_before + caller.seen + other.seen
        )
    assert "Traceback" not in server.log


async def test_a_slow_llm_is_heard_as_it_writes(server: FaultyServer, llm: FaultyLlm) -> None:
    llm.mode = "slow"
    async with calling(server.address) as caller:
        assert await caller.turn() == "completed"
        assert caller.said.split() == "".join(WORDS).split()


async def test_health_names_an_llm_that_is_left_alone(server: FaultyServer, llm: FaultyLlm) -> None:
    llm.mode = "500"
    async with calling(server.address) as caller:
        for _ in range(2):
            assert await caller.turn() == "failed"
        told = await health(server.address)
        assert told["status"] == "degraded"
        assert set(told["degraded"]) == {"llm"}
        llm.mode = "well"
        assert await caller.answered_again_or_ended() == "completed"
    await until_healthy(server.address)


@pytest.mark.parametrize("mode", [pytest.param("429", marks=LONG), "hang"])
async def test_a_fallback_answers_in_the_same_turn(
    server_with_fallback: FaultyServer, llm: FaultyLlm, mode: Mode
) -> None:
    llm.mode = mode
    async with calling(server_with_fallback.address) as caller:
        assert await caller.turn() == "completed"
        assert caller.said.strip() == FALLBACK


async def test_a_worker_that_is_lost_while_the_llm_is_away_is_replaced(
    tmp_path: Path, llm: FaultyLlm
) -> None:
    llm.mode = "well"
    with server_of(llm, tmp_path, "", "--workers", "2") as server:
        llm.mode = "500"
        lost = server.workers()[0]
        os.kill(lost, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):  # a process starts as fast as the machine lets it
            while lost in (now := server.workers()) or len(now) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while len((await health(server.address))["workers"]) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        async with asyncio.timeout(WITHIN_S):
            async with calling(server.address) as caller:
                assert await caller.turn() == "failed"
                llm.mode = "well"
                assert await caller.answered_again_or_ended() == "completed"
