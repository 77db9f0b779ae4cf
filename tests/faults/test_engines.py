"""A speech engine's process is stopped, slowed down or killed, in each stage of a turn."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fault_calls import LONG, FaultCaller, calling, counted, until_counted, until_healthy
from faulty_server import BLOCKING, FaultyServer, faulty_server

SOON_KILLED = {"voiceagent.engines.timeouts:TimeoutsConfig.engine_hang_s": 2.0}
APOLOGY = "Could you say that again?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    """One for all tests, which leave it well."""
    with faulty_server(tmp_path_factory.mktemp("engines"), constants=SOON_KILLED, **BLOCKING) as server:
        yield server


@pytest.fixture
async def turns_before(server: FaultyServer) -> Counter[str]:
    """Return the server's count of turns by outcome before the test."""
    await until_healthy(server.address)
    return Counter(await counted(server.address, "voiceagent_turns_total"))


async def counters_agree(server: FaultyServer, before: Counter[str], *callers: FaultCaller) -> None:
    """The server counted the turns as the callers saw them end."""
    seen = sum((caller.seen for caller in callers), start=before)
    assert await counted(server.address, "voiceagent_turns_total") == seen


@pytest.mark.parametrize(
    ("engine", "fault"),
    [
        ("recognizer", signal.SIGKILL),
        ("synthesizer", signal.SIGSTOP),
        pytest.param("recognizer", signal.SIGSTOP, marks=LONG),
        pytest.param("synthesizer", signal.SIGKILL, marks=LONG),
    ],
)
async def test_a_lost_engine_fails_one_turn_with_an_apology(
    server: FaultyServer, turns_before: Counter[str], engine: str, fault: signal.Signals
) -> None:
    async with calling(server.address) as touched, calling(server.address) as idle:
        assert await touched.turn(spoken=True) == "completed"
        os.kill(server.engine(engine), fault)
        assert await touched.answered_again_or_ended(spoken=True) == "completed"
        assert await idle.answered_again_or_ended(spoken=True) == "completed"
        await until_healthy(server.address)
        await counters_agree(server, turns_before, touched, idle)
    assert f"part={engine}" in server.log
    assert "component_recovered" in server.log
    assert "Traceback" not in server.log


@pytest.mark.parametrize("fault", [pytest.param(signal.SIGSTOP, marks=LONG), signal.SIGKILL])
async def test_a_synthesizer_lost_while_it_speaks_ends_in_an_apology(
    server: FaultyServer, turns_before: Counter[str], fault: signal.Signals
) -> None:
    async with calling(server.address) as touched:
        await touched.ask()
        await touched.until("response.output_audio.delta")
        os.kill(server.engine("synthesizer"), fault)
        async with asyncio.timeout(10):
            status = await touched.outcome()
        assert status == "failed" or touched.said.endswith("moment.")  # all was made before the fault
        assert status == "completed" or APOLOGY in touched.said
        assert await touched.answered_again_or_ended() == "completed"
        await counters_agree(server, turns_before, touched)


async def test_health_is_degraded_and_names_the_engine_that_hangs(server: FaultyServer) -> None:
    os.kill(server.engine("synthesizer"), signal.SIGSTOP)
    told = await until_healthy(server.address, "degraded")
    assert set(told["degraded"]) == {"synthesizer"}
    await until_counted(server.address, "voiceagent_degraded", {"synthesizer": 1.0})
    await until_healthy(server.address)
    await until_counted(server.address, "voiceagent_degraded", {})


@pytest.mark.parametrize("engine", [pytest.param("recognizer", marks=LONG), "synthesizer"])
async def test_a_slow_engine_is_not_taken_for_a_hung_one(server: FaultyServer, engine: str) -> None:
    process = server.engine(engine)
    async with calling(server.address) as touched:
        slowed = asyncio.create_task(server.slow_down(process, 3.0))
        while not slowed.done():
            assert await touched.turn(spoken=True) == "completed"
    assert server.engine(engine) == process


async def kill(server: FaultyServer, engine: str) -> int:
    """Kill an engine's process and return its id. One that has just gone is replaced: then its successor."""
    async with asyncio.timeout(30):
        while True:
            process = server.engine(engine)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                return process
            await asyncio.sleep(0.02)


async def test_an_engine_killed_again_and_again_comes_back(server: FaultyServer) -> None:
    async with calling(server.address) as touched:
        for _ in range(6):
            process = await kill(server, "synthesizer")
            async with asyncio.timeout(30):
                while server.engine("synthesizer") == process:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        assert await touched.answered_again_or_ended() == "completed"
