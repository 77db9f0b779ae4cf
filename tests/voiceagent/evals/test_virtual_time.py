from __future__ import annotations

import asyncio
import threading
import time

import pytest

from voiceagent.evals.virtual_time import run_virtually


def test_sleeping_takes_no_time_but_the_loops_own():
    async def sleep() -> float:
        await asyncio.gather(asyncio.sleep(3600), asyncio.sleep(7200))
        return asyncio.get_running_loop().time()

    began_s = time.monotonic()
    assert run_virtually(sleep()) == pytest.approx(7200)
    assert time.monotonic() - began_s < 60


def test_work_of_threads_takes_the_time_it_is_given():
    async def work() -> tuple[threading.Thread, float]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, threading.current_thread), loop.time()

    assert run_virtually(work(), work_s=0.5) == (threading.main_thread(), pytest.approx(0.5))


def test_what_the_work_raises_reaches_who_waits_for_it():
    async def work() -> None:
        await asyncio.get_running_loop().run_in_executor(None, int, "no number")

    with pytest.raises(ValueError, match="no number"):
        run_virtually(work())


def test_work_that_nobody_waits_for_any_more_ends_quietly():
    async def work() -> None:
        asyncio.get_running_loop().run_in_executor(None, int).cancel()
        await asyncio.sleep(1)

    run_virtually(work(), work_s=0.5)


def test_waiting_for_what_cannot_happen_is_an_error():
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="everything waits"):
        run_virtually(wait())
