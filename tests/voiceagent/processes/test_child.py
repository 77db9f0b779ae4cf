"""The life of a process, as an engine's host sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop
from hosted_engines import all_of, each, hosted_engine
from worker_engines import EngineError

from voiceagent.processes.engine_host import EngineHost, HostedEngine


async def test_an_engine_that_cannot_be_built_leaves_nothing_running() -> None:
    host = EngineHost(hosted_engine("Unbuildable"), workers=2)
    with pytest.raises(EngineError, match=r"^tested: the model is not in '/models'$"):
        await host.start()
    assert host.process_ids == []


async def test_a_package_that_is_missing_is_named() -> None:
    host = EngineHost(HostedEngine("tested", "package_of_nobody:Engine", {}, EngineError))
    with pytest.raises(EngineError, match="needs the Python package 'package_of_nobody'"):
        await host.start()


async def test_a_killed_worker_fails_its_streams_and_is_started_again(host: EngineHost) -> None:
    async with aclosing(host.stream(each(("give", 1), ("give for good", None)))) as stream:
        assert await anext(stream) == 1
        os.kill(host.process_ids[0], signal.SIGKILL)
        with pytest.raises(EngineError, match=r"^tested: the worker process died \(exit status -9\)$"):
            async for _ in stream:
                pass
    assert await all_of(host, ("give", 2)) == [2]
    assert host.restarts == 1


async def test_a_worker_that_died_between_streams_is_noticed_by_the_next(host: EngineHost) -> None:
    first = host.process_ids[0]
    os.kill(first, signal.SIGKILL)
    psutil.Process(first).wait(timeout=10)
    assert await all_of(host, ("tell process", None)) == host.process_ids
    assert host.restarts == 1


async def test_a_worker_that_keeps_dying_at_its_start_is_given_up(tmp_path: Path) -> None:
    (lamp := tmp_path / "lamp").touch()
    host = EngineHost(hosted_engine("Fading", lamp=str(lamp)))
    await host.start()
    lamp.unlink()
    os.kill(host.process_ids[0], signal.SIGKILL)
    while host.process_ids:  # noqa: ASYNC110 - its dying is no event of this process
        await asyncio.sleep(0.01)
    reason = r"^tested: given up after 3 starts that failed: the worker process died \(exit status 7\)$"
    with pytest.raises(EngineError, match=reason):
        await all_of(host, 1)
    assert host.restarts == 3
    lamp.touch()
    await host.start()
    assert await all_of(host, 1) == [1, "the end"]
    await host.close()


async def test_a_worker_that_dies_before_it_was_ever_ready_is_tried_again(tmp_path: Path) -> None:
    host = EngineHost(hosted_engine("Fading", lamp=str(tmp_path / "no lamp")))
    reason = r"^tested: given up after 3 starts that failed: the worker process died \(exit status 7\)$"
    with pytest.raises(EngineError, match=reason):
        await host.start()
    assert host.restarts == 2
    assert host.process_ids == []


async def test_a_process_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(EngineError, match=r"no process can be started: .*'/no/python'"):
        await EngineHost(hosted_engine("Echo")).start()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_to_the_whole_group_does_not_end_a_worker(
    host: EngineHost, signal_number: int
) -> None:
    before = host.process_ids
    os.kill(before[0], signal_number)
    assert await all_of(host, ("tell process", None)) == before
    assert host.restarts == 0


async def test_closing_fails_what_runs_and_leaves_nothing() -> None:
    descriptors = psutil.Process().num_fds()
    host = EngineHost(hosted_engine("Obedient"), workers=2)
    await host.start()
    processes = host.process_ids
    stream = host.stream(each(("give", 1), ("give for good", None)))
    await anext(stream)
    await host.close()
    await host.close()
    with pytest.raises(EngineError, match=r"^tested: closed$"):
        async for _ in stream:
            pass
    assert not any(map(psutil.pid_exists, processes))
    assert psutil.Process().num_fds() == descriptors


async def test_a_stream_of_a_host_that_is_not_started_raises() -> None:
    with pytest.raises(EngineError, match=r"^tested: not started$"):
        await all_of(EngineHost(hosted_engine("Echo")), 1)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_host_serves_one_event_loop_after_the_other(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def left_open() -> None:
        await anext(host.stream(each(("give", 0), ("give for good", None))))

    def in_a_loop(work: Any) -> Any:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(work)

    host = EngineHost(hosted_engine("Obedient"))
    in_a_loop(host.start())
    [before] = host.process_ids
    in_a_loop(left_open())
    assert in_a_loop(all_of(host, ("tell process", None))) == [before]
    in_a_loop(host.close())
    assert not psutil.pid_exists(before)


def test_a_worker_ends_with_a_killed_host_and_runs_no_script(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import asyncio
from voiceagent.processes.engine_host import EngineHost, HostedEngine

async def main():
    host = EngineHost(HostedEngine("tested", "worker_engines:Echo", {}, RuntimeError))
    await host.start()
    print(*host.process_ids, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment) as running:
        assert running.stdout is not None
        worker = psutil.Process(int(running.stdout.readline()))
        running.kill()
        worker.wait(timeout=10)
        assert running.stdout.read() == b""
