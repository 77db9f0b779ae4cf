from __future__ import annotations

import asyncio
import socket
import time

import pytest

from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout


async def test_who_does_not_answer_is_given_up():
    with pytest.raises(TimeoutError):
        async with PauseTolerantTimeout(0.05):
            await asyncio.Event().wait()


async def test_an_answer_in_time_is_none_too_late():
    async with PauseTolerantTimeout(0.05):
        await asyncio.sleep(0)
    await asyncio.sleep(0.1)  # and nothing happens behind it


async def test_an_answer_that_came_while_the_process_was_suspended_is_read():
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    with theirs:
        asking = asyncio.create_task(reader.readline())
        await asyncio.sleep(0)
        async with PauseTolerantTimeout(0.2):
            theirs.send(b"here\n")
            time.sleep(0.5)  # noqa: ASYNC251 - the whole process is suspended
            assert await asking == b"here\n"
    writer.close()
    await writer.wait_closed()


async def test_who_was_suspended_beside_the_process_has_time_to_answer():
    async with PauseTolerantTimeout(0.2):
        asyncio.get_running_loop().call_soon(time.sleep, 0.5)
        await asyncio.sleep(0)
        await asyncio.sleep(0.05)


async def test_what_was_waited_before_counts_when_it_is_entered_again():
    timeout, times = PauseTolerantTimeout(0.1), 0
    with pytest.raises(TimeoutError):
        while True:
            async with timeout:
                await asyncio.sleep(0.002)
                times += 1
    assert 0 < times <= 50


async def test_without_a_limit_it_lasts_until_one_is_set():
    with pytest.raises(TimeoutError):
        async with PauseTolerantTimeout() as timeout:
            asyncio.get_running_loop().call_later(0.01, timeout.set_limit, 0.05)
            await asyncio.Event().wait()
    assert timeout.limit_s == 0.05


async def test_a_cancellation_is_none_of_its_own():
    async def wait() -> None:
        async with PauseTolerantTimeout(60.0):
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_after_a_restart_all_of_the_new_limit_is_left():
    timeout = PauseTolerantTimeout(0.1)
    for _ in range(4):
        async with timeout:
            await asyncio.sleep(0.06)
        timeout.restart(0.1)
    with pytest.raises(TimeoutError):
        async with timeout:
            await asyncio.Event().wait()


async def test_waits_in_a_row_share_a_timer(monkeypatch):
    loop, timers = asyncio.get_running_loop(), []
    set_timer = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda *given: timers.append(given) or set_timer(*given))
    timeout = PauseTolerantTimeout(60.0)
    for _ in range(100):
        async with timeout:
            await asyncio.sleep(0)
        timeout.restart(60.0)
    assert len(timers) == 1


async def test_a_shorter_limit_than_before_is_kept():
    timeout = PauseTolerantTimeout(60.0)
    async with timeout:
        await asyncio.sleep(0)
    timeout.restart(0.05)
    async with asyncio.timeout(1.0):
        with pytest.raises(TimeoutError):
            async with timeout:
                await asyncio.Event().wait()


async def test_no_wait_is_given_up_after_its_end():
    timeout = PauseTolerantTimeout(0.02)
    async with timeout:
        await asyncio.sleep(0)
    await asyncio.sleep(0.1)
    assert asyncio.current_task().cancelling() == 0
