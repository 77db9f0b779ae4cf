"""Busy time: a process computes, or waits for a core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from crowded_core import starved
from psutil import Process

from llmcore.serving.busy_time import busy_time_s

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def computing() -> Iterator[int]:
    """A process that computes for ever."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid
        process.kill()


def used_in_s(process_id: int, seconds: float) -> float:
    """The busy time of this many seconds."""
    before_s = busy_time_s(process_id)
    time.sleep(seconds)
    after_s = busy_time_s(process_id)
    assert before_s is not None
    assert after_s is not None
    return after_s - before_s


def test_a_computing_process_is_busy(computing: int) -> None:
    assert used_in_s(computing, 1.0) > 0.5


def test_a_process_that_waits_for_a_core_is_busy(computing: int) -> None:
    with starved(computing):
        busy_s = cpu_s = 0.0
        while busy_s < 1.0:  # its wait counts once it has had its turn
            before_s = sum(Process(computing).cpu_times()[:2])
            busy_s += used_in_s(computing, 0.5)
            cpu_s += sum(Process(computing).cpu_times()[:2]) - before_s
    assert cpu_s < 0.5


def test_a_stopped_process_is_not_busy(computing: int) -> None:
    os.kill(computing, signal.SIGSTOP)
    used_in_s(computing, 0.1)  # the time until it stopped
    assert used_in_s(computing, 0.5) == 0.0


def test_a_process_that_has_ended_has_no_busy_time(computing: int) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert busy_time_s(ended.pid) is None
