"""Plain functions as tools."""

from __future__ import annotations

import asyncio
import threading

import pytest

from voiceagent.agents import tool_threads
from voiceagent.agents.tool_threads import in_a_thread
from voiceagent.session.agent import ToolFailed


def add(function: int, other: int) -> int:
    """Its argument has the name of `in_a_thread`'s own."""
    return function + other


async def test_a_plain_tool_gives_what_it_returns_and_raises_what_it_raises() -> None:
    assert await in_a_thread(add, function=1, other=2) == 3
    with pytest.raises(ZeroDivisionError):
        await in_a_thread(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_a_thread(lambda: next(iter(())))


async def test_one_too_many_is_refused_and_the_next_runs_once_others_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool_threads, "MAX_THREADS", 2)
    over = threading.Event()
    waiting = [asyncio.create_task(in_a_thread(over.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()  # given up; they run on
    with pytest.raises(ToolFailed, match="2 tools are running"):
        await in_a_thread(add, function=1, other=2)
    over.set()
    async with asyncio.timeout(10):
        while tool_threads._running:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await in_a_thread(add, function=1, other=2) == 3


async def test_a_tool_that_no_thread_could_be_had_for_takes_the_place_of_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="can't start"):
            await in_a_thread(add, function=1, other=2)
    assert not tool_threads._running
