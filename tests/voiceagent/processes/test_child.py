"""The life of a process, as an engine's host sees it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop
from crowded_core import starved
from hosted_engines import all_of, each, hosted_engine
from worker_engines import EngineError

from llmcore.policies.circuit_breaker import Backoff
from voiceagent.processes.child import Child
from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.engine_process import EngineTask
from voiceagent.processes.policies.liveness import STARTS_IN_A_ROW, Supervision
from voiceagent.processes.program import Program

QUICK = Supervision(beat_s=0.05, late_s=0.2, hang_s=1.0, backoff=Backoff(0.01, 0.05))


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what is no event of this process."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


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
        with pytest.raises(EngineError, match=r"^tested: the worker process died \(killed by SIGKILL\)$"):
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


async def test_a_worker_dying_at_start_is_started_until_it_lives(tmp_path: Path) -> None:
    (lamp := tmp_path / "lamp").touch()
    host = EngineHost(hosted_engine("Fading", lamp=str(lamp)), supervision=QUICK)
    await host.start()
    lamp.unlink()
    os.kill(host.process_ids[0], signal.SIGKILL)
    await until(lambda: host.restarts > 2 * STARTS_IN_A_ROW)
    assert re.match(r"the worker process died \(exit status 7\); it is (being )?started again$", host.problem)
    lamp.touch()
    await until(lambda: not host.problem)
    assert await all_of(host, 1) == [1, "the end"]
    await host.close()


async def test_streams_of_a_waiting_worker_fail_with_its_reason(tmp_path: Path) -> None:
    (lamp := tmp_path / "lamp").touch()
    never = Supervision(backoff=Backoff(base_s=1e6, max_s=1e6))
    host = EngineHost(hosted_engine("Fading", lamp=str(lamp)), supervision=never)
    await host.start()
    lamp.unlink()
    os.kill(host.process_ids[0], signal.SIGKILL)
    await until(lambda: not host.process_ids)
    with pytest.raises(EngineError, match=r"the worker process died \(exit status 7\); it is started again"):
        await all_of(host, 1)
    await host.close()


async def test_a_stopped_worker_is_killed_and_another_one_answers() -> None:
    host = EngineHost(hosted_engine("Obedient"), supervision=QUICK)
    await host.start()
    [stopped] = host.process_ids
    async with aclosing(host.stream(each(("give", 1), ("give for good", None)))) as stream:
        assert await anext(stream) == 1
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(EngineError, match=r"^tested: it did not answer for \d\.\d s, and was killed$"):
            async for _ in stream:
                pass
    assert await all_of(host, ("give", 2)) == [2]
    await until(lambda: not psutil.pid_exists(stopped))
    await host.close()


async def test_a_worker_that_hangs_in_its_work_is_killed(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    host = EngineHost(hosted_engine("Obedient"), supervision=QUICK)
    await host.start()
    with pytest.raises(EngineError, match=r"did not answer for \d\.\d s, and was killed$"):
        await all_of(host, ("wait for", str(pipe)))
    assert await all_of(host, ("give", 2)) == [2]
    await host.close()


async def test_a_worker_that_computes_for_longer_is_waited_for() -> None:
    host = EngineHost(hosted_engine("Obedient"), supervision=replace(QUICK, working_s=120.0))
    await host.start()
    [working] = host.process_ids
    assert await all_of(host, ("compute for", 1.5 * QUICK.hang_s)) == ["computed"]
    assert host.process_ids == [working]
    await host.close()


async def test_a_worker_that_gets_no_core_to_compute_on_is_waited_for() -> None:
    host = EngineHost(hosted_engine("Obedient"), supervision=replace(QUICK, hang_s=3.0, working_s=240.0))
    await host.start()
    [waiting] = host.process_ids
    with starved(waiting):  # its wait counts once it has had its turn, which may take a second
        assert await all_of(host, ("compute for", 0.07)) == ["computed"]
    assert host.process_ids == [waiting]
    await host.close()


async def test_a_worker_that_computes_for_ever_is_killed() -> None:
    host = EngineHost(hosted_engine("Obedient"), supervision=replace(QUICK, working_s=1.5))
    await host.start()
    with pytest.raises(EngineError, match=r"did not answer for \d\.\d s, and was killed$"):
        await all_of(host, ("compute for", 1e6))
    assert await all_of(host, ("give", 2)) == [2]
    await host.close()


async def test_a_worker_that_is_late_gets_no_stream_while_another_is_there() -> None:
    patient = Supervision(beat_s=0.02, late_s=0.04, hang_s=1e6)
    host = EngineHost(hosted_engine("Obedient"), workers=2, supervision=patient)
    await host.start()
    stopped, other = host.process_ids
    os.kill(stopped, signal.SIGSTOP)
    await until(lambda: host.problem.startswith("1 of 2 processes: no answer for"))
    for _ in range(2):
        assert await all_of(host, ("tell process", None)) == [other]
    os.kill(stopped, signal.SIGCONT)
    await until(lambda: not host.problem)
    await host.close()


async def test_a_worker_not_ready_in_time_is_killed_and_retried(tmp_path: Path) -> None:
    impatient = Supervision(beat_s=0.02, start_s=0.5, backoff=Backoff(0.01, 0.02))
    (lamp := tmp_path / "lamp").touch()
    host = EngineHost(hosted_engine("Slow", lamp=str(lamp)), supervision=impatient)
    await host.start()
    lamp.unlink()
    os.kill(host.process_ids[0], signal.SIGKILL)
    await until(lambda: host.restarts >= 3)
    assert "it was not ready after" in host.problem
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
from voiceagent.processes.child import Child
from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.engine_process import EngineTask

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


async def test_a_process_that_may_end_is_not_started_again(tmp_path: Path) -> None:
    (lamp := tmp_path / "lamp").touch()
    task = EngineTask("worker_engines:Fading", {"lamp": str(lamp)}, EngineError, ())
    child = Child(Program("voiceagent.processes.engine_process:main", task), supervision=QUICK)
    await child.start()
    lamp.unlink()
    os.kill(child.process_id or 0, signal.SIGKILL)
    await until(lambda: child.restarts >= 2)
    child.disable_restart()
    await child.wait_until_ended()
    assert child.process_id is None
    await child.end()
