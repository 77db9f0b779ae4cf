"""A server of two workers, each a process of its own, and this one the supervisor that holds the engines."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fixed_config import write_config
from rtc_caller import RtcCaller
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent.config.tables import load
from voiceagent.llm.config import PriorityConfig
from voiceagent.processes.policies.balance import UNCOUNTED_S
from voiceagent.server.supervisor import Supervisor
from voiceagent.validation.errors import CommandFailed, ConfigError

pytestmark = pytest.mark.xdist_group("workers")  # one server for all of them

PATIENCE_S = 60
IDENTITY_HEAD = b"\x01\x00\x10"
"""Of AudioSocket's message with the call's UUID."""


class Running:
    """A server that takes calls, and how to reach it; `headers` let in."""

    def __init__(self, line: str, headers: dict[str, str] | None = None) -> None:
        self.address = line.partition(" on http://")[2].partition(" ")[0]
        self.headers = headers or {}

    def client(self) -> httpx.AsyncClient:
        """One with connections of its own, which go to the worker with the fewest calls."""
        return httpx.AsyncClient(base_url=f"http://{self.address}", headers=self.headers, trust_env=False)

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The server's health, once something holds of it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(httpx.TransportError):  # the worker that was asked died of it
                    async with self.client() as http:
                        health = (await http.get("/health")).json()
                    if holds(health):
                        break
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.1 * UNCOUNTED_S)  # these connections are no calls, and count as such no more
        return dict(health)

    async def until_each_has(self, *calls: int) -> list[dict[str, int]]:
        """The workers, once they have so many calls."""
        health = await self.until(lambda health: [w["calls"] for w in health["workers"]] == list(calls))
        return list(health["workers"])

    async def metrics(self) -> str:
        async with self.client() as http:
            return (await http.get("/metrics")).text

    @asynccontextmanager
    async def call(self, **headers: str) -> AsyncIterator[Any]:
        """A call that has begun."""
        url, shown = f"ws://{self.address}/v1/realtime?model=x", self.headers | headers
        async with connect(url, proxy=None, additional_headers=shown) as call:
            assert json.loads(await call.recv())["type"] == "session.created"
            yield call


@pytest.fixture(scope="module")
def audiosocket_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory, audiosocket_port) -> Iterator[Running]:
    """A server for all tests that leave it as it was; it starts slowly. Calls are spread."""
    lines = f'max_calls = 4\napi_keys_env = "TEST_KEYS"\n[telephony.audiosocket]\nport = {audiosocket_port}'
    lines = f"worker_load_threshold = 0\n{lines}"
    config = write_config(tmp_path_factory.mktemp("workers"), lines)
    process = subprocess.Popen(
        [Path(sys.executable).with_name("voiceagent"), "serve", "--config", config, "--workers", "2"],
        env={**os.environ, "TEST_KEYS": "secret"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Running(process.stdout.readline(), {"Authorization": "Bearer secret"})
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def running(folder: Path, lines: str) -> AsyncIterator[tuple[Running, asyncio.Task[None]]]:
    """A server whose supervisor is this process, and its task."""
    announced = asyncio.get_running_loop().create_future()
    config = load(write_config(folder, lines), workers=2)
    serving = asyncio.create_task(Supervisor(config).run(announced.set_result))
    await asyncio.wait({serving, announced}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    try:
        yield Running(await announced), serving
    finally:
        if not serving.done():
            stop()
        await asyncio.wait_for(serving, PATIENCE_S)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


async def answered(call: Any) -> None:
    """The agent says something, and to the end."""
    await call.send('{"type": "response.create"}')
    async with asyncio.timeout(PATIENCE_S):
        while (event := json.loads(await call.recv()))["type"] != "response.done":
            pass
    assert event["response"]["status"] == "completed"


async def test_load_and_triage_are_those_of_the_whole_server(server):
    await server.until_each_has(0, 0)
    async with server.call(), server.client() as http:
        report = (await http.get("/load")).json()
        assert (report["calls"], report["max_calls"], report["takes_calls"]) == (1, 4, True)
        assert (await http.get("/triage.json")).json()["causes"]


async def test_calls_are_spread_over_workers_and_counted_together(server):
    await server.until_each_has(0, 0)
    async with AsyncExitStack() as calls:
        opened = [await calls.enter_async_context(server.call()) for _ in range(4)]
        await server.until_each_has(2, 2)
        await asyncio.gather(*(answered(call) for call in opened))
        page = await server.metrics()
        assert "voiceagent_calls 4.0" in page
        assert 'voiceagent_turns_total{outcome="completed"} 4.0' in page
        assert 'voiceagent_llm_requests_total{ending="finished",' in page
        for _ in range(2):
            with pytest.raises(InvalidStatus) as refused:
                async with server.call():
                    pass
            assert refused.value.response.status_code == 503
            assert b"all 4 calls are taken" in refused.value.response.body


async def test_a_worker_that_dies_is_replaced_and_the_others_go_on(server):
    await server.until_each_has(0, 0)
    async with AsyncExitStack() as calls:
        first = await calls.enter_async_context(server.call())
        workers = (await server.until(lambda health: health["calls"] == 1))["workers"]
        died, lives = sorted(workers, key=lambda worker: worker["calls"], reverse=True)
        second = await calls.enter_async_context(server.call())
        await server.until_each_has(1, 1)
        os.kill(died["process_id"], signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            await first.recv()
        await answered(second)
        health = await server.until(
            lambda health: len(health["workers"]) == 2 and died["process_id"] not in processes(health)
        )
        assert lives["process_id"] in processes(health)
        assert health["calls"] == 1
        third = await calls.enter_async_context(server.call())
        await server.until_each_has(1, 1)
        await answered(third)


def processes(health: dict[str, Any]) -> list[int]:
    return [worker["process_id"] for worker in health["workers"]]


async def test_no_call_is_refused_while_a_killed_worker_starts_again(server):
    workers = await server.until_each_has(0, 0)
    os.kill(workers[0]["process_id"], signal.SIGKILL)
    while True:
        async with server.call():
            pass
        async with server.client() as http:
            health = (await http.get("/health")).json()
        if len(health["workers"]) == 2 and workers[0] not in health["workers"]:
            break


async def test_a_key_from_one_worker_is_accepted_by_all_even_later_ones(server):
    workers = await server.until_each_has(0, 0)
    async with server.client() as http:
        made = (await http.post("/v1/realtime/client_secrets")).json()
    holder = f"Bearer {made['value']}"
    os.kill(workers[0]["process_id"], signal.SIGKILL)
    await server.until(lambda health: workers[0] not in health["workers"] and len(health["workers"]) == 2)
    async with server.call(Authorization=holder), server.call(Authorization=holder):
        await server.until_each_has(1, 1)


async def test_a_webrtc_call_is_hung_up_by_whichever_worker_is_asked(server):
    await server.until_each_has(0, 0)
    async with server.client() as http:
        caller = RtcCaller(http)
        await caller.connect()
        await server.until(lambda health: health["calls"] == 1)
    async with server.client() as http:  # whose worker is the one without a call
        assert (await http.post(f"{caller.location}/hangup")).status_code == 200
        await server.until(lambda health: health["calls"] == 0)
        assert (await http.post(f"{caller.location}/hangup")).status_code == 200, "it is over, as was wanted"
        assert (await http.post(f"{caller.location}x/hangup")).status_code == 404
    await caller.peer.close()


async def test_audiosocket_calls_come_through_the_workers_too(server, audiosocket_port):
    await server.until_each_has(0, 0)
    writers = []
    for _ in range(2):
        _, writer = await asyncio.open_connection("127.0.0.1", audiosocket_port)
        writer.write(IDENTITY_HEAD + uuid4().bytes)
        writers.append(writer)
    await server.until_each_has(1, 1)
    for writer in writers:
        writer.close()
    await server.until_each_has(0, 0)


async def test_one_worker_is_filled_before_the_next_whose_end_spares_the_others(tmp_path):
    async with running(tmp_path, "max_calls = 4") as (server, _), AsyncExitStack() as calls:
        opened = [await calls.enter_async_context(server.call()) for _ in range(3)]
        health = await server.until(lambda health: health["calls"] == 3)
        full, empty = sorted(health["workers"], key=lambda worker: worker["calls"], reverse=True)
        assert (full["calls"], empty["calls"]) == (3, 0)
        os.kill(full["process_id"], signal.SIGKILL)
        for call in opened:
            with pytest.raises(ConnectionClosed):
                await call.recv()
        async with server.call() as later:  # at once, from the one that is there
            await answered(later)


async def test_a_stopping_server_takes_no_call_and_lets_others_finish(tmp_path):
    async with running(tmp_path, "drain_s = 60") as (server, serving):
        async with server.call() as first, server.call() as second:
            stop()
            await server.until(lambda health: health["status"] == "draining")
            for _ in range(2):
                with pytest.raises(InvalidStatus) as refused:
                    async with server.call():
                        pass
                assert refused.value.response.status_code == 503
            await asyncio.gather(answered(first), answered(second))
        await asyncio.wait_for(serving, PATIENCE_S)


async def test_a_second_signal_ends_the_calls_at_once(tmp_path):
    async with running(tmp_path, "drain_s = 600") as (server, serving), server.call() as call:
        stop()
        await server.until(lambda health: health["status"] == "draining")
        stop()
        with pytest.raises(ConnectionClosed):
            while True:
                await call.recv()
        await asyncio.wait_for(serving, PATIENCE_S)


async def test_every_worker_refuses_calls_that_the_llm_has_no_time_for(tmp_path, monkeypatch):
    monkeypatch.setattr(PriorityConfig, "max_ttft_ms", 0.001)
    async with running(tmp_path, "") as (server, _), server.call():
        for _ in range(2):
            with pytest.raises(InvalidStatus) as refused:
                async with server.call():
                    pass
            assert b"busy: the time to first token would be" in refused.value.response.body
        assert "voiceagent_llm_refused_calls_total 2.0" in await server.metrics()


async def test_an_engine_that_cannot_start_ends_the_server_with_its_reason(tmp_path):
    server = Supervisor(
        load(write_config(tmp_path, FixedRecognizer="failing_engines:DeafRecognizer"), workers=2)
    )
    with pytest.raises(CommandFailed, match="cannot start: no model in /nowhere"):
        await server.run(print)


async def test_a_worker_that_cannot_start_ends_the_server_with_its_reason(tmp_path):
    server = Supervisor(
        load(write_config(tmp_path, FixedSynthesizer="failing_engines:MuteSynthesizer"), workers=2)
    )
    with pytest.raises(CommandFailed, match=r"worker [01] does not start: cannot start: no voice"):
        await server.run(print)


def test_a_wrong_configuration_is_reported_before_any_worker_starts(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_KEYS", raising=False)
    with pytest.raises(ConfigError, match="NO_KEYS"):
        Supervisor(load(write_config(tmp_path, 'api_keys_env = "NO_KEYS"'), workers=2))
