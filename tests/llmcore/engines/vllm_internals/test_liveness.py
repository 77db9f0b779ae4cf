"""Detection of a hang in an engine. The engine here is a stand-in for vLLM; its processes are real."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engines.vllm_internals.engine import SCHEDULER_MODULE, is_alive
from llmcore.policies.hang_detection import HangDetector, HangLimits

REPORT = {"steps": 7}
IDLE = "import time; time.sleep(600)"
WORKS = "while True: pass"
IN_A_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"


class Core:
    """Answers after `after_s`, or dies instead."""

    def __init__(self, after_s: float, error: Exception | None = None) -> None:
        self._after_s, self._error = after_s, error
        self.resources = SimpleNamespace(engine_manager=SimpleNamespace(processes=[]))

    async def call_utility_async(self, name: str) -> dict[str, Any]:
        assert name == "llmcore_report"
        await asyncio.sleep(self._after_s)
        if self._error is not None:
            raise self._error
        return REPORT


def engine(core: Core, *processes: subprocess.Popen[bytes]) -> Any:
    core.resources.engine_manager.processes += processes
    scheduler = SimpleNamespace(scheduler_cls=f"{SCHEDULER_MODULE}.TurnScheduler")
    return SimpleNamespace(engine_core=core, vllm_config=SimpleNamespace(scheduler_config=scheduler))


def detector(idle_s: float = 1.0, busy_s: float = 600.0, in_first_request: bool = False) -> HangDetector:
    return HangDetector(HangLimits(idle_s, busy_s), in_first_request)


@pytest.fixture
def started() -> Iterator[Any]:
    """Return a function that starts a process with a piece of Python; all are killed afterwards."""
    with ExitStack() as ends:

        def start(program: str) -> subprocess.Popen[bytes]:
            process = ends.enter_context(
                subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
            )
            ends.callback(lambda: subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False))
            return process

        yield start


async def test_an_engine_that_answers_delivers_its_report() -> None:
    reports: list[dict[str, Any]] = []
    assert await is_alive(engine(Core(0.0)), detector(), reports.append)
    assert reports == [REPORT]


async def test_a_silent_engine_whose_process_is_idle_hangs(started: Any) -> None:
    reports: list[dict[str, Any]] = []
    assert not await is_alive(engine(Core(60.0), started(IDLE)), detector(), reports.append)
    assert reports == []


async def test_a_silent_engine_whose_process_was_stopped_hangs(started: Any) -> None:
    process = started(WORKS)
    process.send_signal(signal.SIGSTOP)
    assert not await is_alive(engine(Core(60.0), process), detector(), lambda _: None)


@pytest.mark.flaky(reruns=1)  # a shared machine may give its process no time for the two seconds
async def test_a_slow_engine_that_works_is_waited_for(started: Any) -> None:
    """Each of two engines, one of which works in a child, with three neighbours that never rest."""
    heavy_neighbours = [started(WORKS) for _ in range(3)]
    reports: list[dict[str, Any]] = []
    engines = [engine(Core(6.0), started(program)) for program in (WORKS, IN_A_CHILD)]
    alive = [is_alive(slow, detector(idle_s=2.0), reports.append) for slow in engines]
    assert await asyncio.gather(*alive) == [True, True]
    assert reports == [REPORT, REPORT]
    assert all(neighbour.poll() is None for neighbour in heavy_neighbours)


async def test_an_engine_in_its_first_request_is_waited_for(started: Any) -> None:
    reports: list[dict[str, Any]] = []
    first = detector(idle_s=0.5, in_first_request=True)
    assert await is_alive(engine(Core(2.0), started(IDLE)), first, reports.append)
    assert reports == [REPORT]


async def test_an_engine_that_works_forever_hangs_in_the_end(started: Any) -> None:
    limits = detector(idle_s=0.5, busy_s=1.5)
    assert not await is_alive(engine(Core(60.0), started(WORKS)), limits, lambda _: None)


async def test_a_dead_engine_does_not_hang() -> None:
    reports: list[dict[str, Any]] = []
    assert await is_alive(engine(Core(0.0, RuntimeError("it died"))), detector(), reports.append)
    assert reports == []


async def test_an_answer_is_read_after_a_pause_of_this_process() -> None:
    reports: list[dict[str, Any]] = []
    asked = asyncio.create_task(is_alive(engine(Core(0.02)), detector(idle_s=0.2), reports.append))
    await asyncio.sleep(0)  # the request is sent,
    await asyncio.sleep(0)
    time.sleep(1.0)  # noqa: ASYNC251 - and the whole process is suspended
    assert await asked
    assert reports == [REPORT]


async def test_a_cancelled_question_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await is_alive(engine(Core(60.0)), detector(60.0), lambda _: None)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
