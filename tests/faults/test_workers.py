"""A call worker, or the supervisor, is stopped, slowed down or killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest
from fault_calls import LONG, WITHIN_S, bystander, calling, health, until_healthy
from faulty_server import FaultyServer, faulty_server
from websockets.exceptions import InvalidMessage, InvalidStatus

from voiceagent.processes.policies.balance import UNCOUNTED_S

HANG_S = "voiceagent.engines.timeouts:TimeoutsConfig.worker_hang_s"
LINES = "max_calls = 20\nworker_load_threshold = 0\n[timeouts]\nfirst_token_s = 1.0"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    """One for all tests that leave it well."""
    folder = tmp_path_factory.mktemp("workers")
    with faulty_server(folder, LINES, "--workers", "2", constants={HANG_S: 3.0}) as server:
        yield server


async def calls_of_workers(server: FaultyServer) -> dict[int, int]:
    """Return the calls of each worker, once earlier health probes no longer count as calls."""
    await asyncio.sleep(1.1 * UNCOUNTED_S)
    return {worker["process_id"]: worker["calls"] for worker in (await health(server.address))["workers"]}


@pytest.mark.parametrize("fault", [signal.SIGSTOP, pytest.param(signal.SIGKILL, marks=LONG)])
async def test_a_lost_worker_ends_its_calls_and_no_others(
    server: FaultyServer, fault: signal.Signals
) -> None:
    await until_healthy(server.address)
    async with calling(server.address) as touched:
        [worker] = [process for process, calls in (await calls_of_workers(server)).items() if calls]
        await asyncio.sleep(1.1 * UNCOUNTED_S)
        async with bystander(server.address):
            assert set((await calls_of_workers(server)).values()) == {1}
            os.kill(worker, fault)
            async with asyncio.timeout(WITHIN_S):
                for _ in range(3):
                    async with calling(server.address) as new:
                        assert await new.turn() == "completed"
                assert await touched.turn() == "ended"
            told = await until_healthy(server.address)
            assert worker not in [each["process_id"] for each in told["workers"]]
    assert "part='worker" in server.log


async def test_health_names_the_worker_that_hangs(server: FaultyServer) -> None:
    await until_healthy(server.address)
    os.kill(server.workers()[1], signal.SIGSTOP)
    [part] = (await until_healthy(server.address, "degraded"))["degraded"]
    assert part.startswith("worker ")
    await until_healthy(server.address)


@LONG
async def test_a_server_all_of_whose_workers_hang_tells_its_health(tmp_path: Path) -> None:
    with faulty_server(tmp_path, LINES, "--workers", "2", constants={HANG_S: 60.0}) as server:
        for worker in server.workers():
            os.kill(worker, signal.SIGSTOP)
        told = await until_healthy(server.address, "degraded")
        assert set(told["degraded"]) == {"worker 0", "worker 1"}
        for worker in server.workers():
            os.kill(worker, signal.SIGCONT)
        await until_healthy(server.address)
        async with calling(server.address) as caller:
            assert await caller.turn() == "completed"


async def test_a_stopped_supervisor_ends_turns_in_apologies(
    server: FaultyServer,
) -> None:
    await until_healthy(server.address)
    deaths = server.log.count("worker_died")
    async with calling(server.address) as caller:
        assert await caller.turn() == "completed"
        server.process.suspend()
        try:
            async with asyncio.timeout(WITHIN_S):
                assert await caller.turn() == "failed"
            assert "Could you say that again?" in caller.said
        finally:
            server.process.resume()
        assert await caller.answered_again_or_ended() == "completed"
    await until_healthy(server.address)
    assert "supervisor_hung" in server.log
    assert server.log.count("worker_died") == deaths


async def new_call(address: str) -> str:
    """Return how the first turn of a call ends, once one is accepted."""
    while True:
        try:
            async with calling(address) as caller:
                return await caller.turn()
        except InvalidStatus as refused:
            assert refused.response.status_code == 503
        except InvalidMessage:
            pass  # no descriptor was free yet: libuv then closes what it accepts
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("workers", [pytest.param(1, marks=LONG), 2])
async def test_more_connections_than_descriptors_are_survived_and_told(tmp_path: Path, workers: int) -> None:
    options = ("--workers", str(workers))
    with faulty_server(tmp_path, LINES, *options, descriptors=128) as server:
        host, _, port = server.address.partition(":")
        async with bystander(server.address):
            idle = []
            for _ in range(400):
                idle.append(connection := socket.socket())
                connection.setblocking(False)
                connection.connect_ex((host, int(port)))
                await asyncio.sleep(0.001)
            if workers > 1:
                assert (await health(server.address))["status"] in ("ready", "degraded")
            for connection in idle:
                connection.close()
            async with asyncio.timeout(WITHIN_S):
                assert await new_call(server.address) == "completed"
        await until_healthy(server.address)


async def test_sigterm_under_load_lets_every_call_finish_its_turn(tmp_path: Path) -> None:
    lines = LINES.replace("max_calls = 20", "max_calls = 20\ndrain_s = 20")
    async with AsyncExitStack() as calls:
        server = calls.enter_context(faulty_server(tmp_path, lines, "--workers", "2"))
        callers = [await calls.enter_async_context(calling(server.address)) for _ in range(10)]
        for caller in callers:
            await caller.ask()
        await asyncio.gather(*(caller.until("response.output_audio.delta") for caller in callers))
        server.process.terminate()
        assert [await caller.outcome() for caller in callers] == ["completed"] * 10


@pytest.mark.parametrize("workers", [1, 2])
def test_more_signals_than_one_while_a_server_ends_leave_nothing_undone(tmp_path: Path, workers: int) -> None:
    with faulty_server(tmp_path, LINES, "--workers", str(workers)) as server:
        while server.process.status() != psutil.STATUS_ZOMBIE:
            server.process.terminate()
            time.sleep(0.01)
    assert "Traceback" not in server.log
