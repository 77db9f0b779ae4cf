"""Typed calls on a virtual clock: waits that pass at once, their order, and waits that stay real."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.testing import Calls, TestCall
from voiceagent.testing.virtual_clock import VirtualClock


class Slow(Agent):
    """Agent with slow tools."""

    def __init__(self) -> None:
        self.at_s: list[tuple[str, float]] = []

    @tool
    async def look(self, what: str, seconds: float) -> str:
        """Look something up."""
        await asyncio.sleep(seconds)
        self.at_s.append((what, asyncio.get_running_loop().time()))
        return f"found {what}"

    @tool(timeout_s=20)
    async def hangs(self) -> None:
        """Never ends."""
        await asyncio.Event().wait()

    @tool(filler="Still looking.", timeout_s=600)
    async def search(self) -> str:
        """Search for long."""
        await asyncio.sleep(300)
        return "found"

    @tool
    def in_a_thread(self) -> str:
        """Works outside the event loop."""
        time.sleep(0.05)
        return "done in a thread"


async def test_a_tool_that_sleeps_for_as_long_as_it_may_is_not_waited_for() -> None:
    began_s = time.monotonic()
    async with TestCall(Slow, clock="virtual") as call:
        call.model_will("Let me look.", Calls("look", what="tea", seconds=30), "There is tea.")
        assert await call.says("is there tea") == "Let me look. There is tea."
        assert call.expect_tool("look") == "found tea"
    assert time.monotonic() - began_s < 25


async def test_what_is_to_come_comes_in_the_order_of_its_time() -> None:
    slow = Slow()
    async with TestCall(slow, clock="virtual") as call:
        seconds = {"tea": 20.0, "milk": 5.0, "sugar": 12.5}
        call.model_will([Calls("look", what=what, seconds=time_s) for what, time_s in seconds.items()])
        await call.says("what is there")
    (milk, at_s), (sugar, later_s), (tea, last_s) = slow.at_s
    assert (milk, sugar, tea) == ("milk", "sugar", "tea")
    assert (later_s - at_s, last_s - at_s) == pytest.approx((7.5, 15.0))


async def test_a_slow_tool_is_told_of_as_to_a_caller_who_waits() -> None:
    async with TestCall(Slow, clock="virtual") as call:
        call.model_will(Calls("search"), "Found.")
        assert await call.says("search") == "Still looking. Found."


async def test_a_tool_that_never_ends_is_stopped_at_its_limit() -> None:
    async with TestCall(Slow, clock="virtual") as call:
        call.model_will(Calls("hangs"), "Sorry.")
        assert await call.says("go") == "Sorry."
        assert call.expect_tool("hangs").startswith("no result within 20 s")


async def test_what_runs_in_a_thread_is_waited_for_in_real_time() -> None:
    async with TestCall(Slow, clock="virtual") as call:
        call.model_will(Calls("in_a_thread"), "Done.")
        assert await call.says("go") == "Done."
        assert call.expect_tool("in_a_thread") == "done in a thread"


async def test_time_stands_still_while_there_is_something_to_do_and_goes_on_afterwards() -> None:
    loop = asyncio.get_running_loop()
    with VirtualClock() as clock:
        began_s = loop.time()
        await asyncio.to_thread(time.sleep, 0.01)  # real time advances the clock too
        after_s = clock.time()
        assert began_s < after_s < began_s + 5
        await asyncio.sleep(0)
        assert clock.time() == after_s
        await asyncio.sleep(3600)
        assert clock.time() == pytest.approx(after_s + 3600)
    assert loop.time() >= after_s + 3600
    await asyncio.sleep(0.001)


async def test_an_open_socket_is_waited_for_in_real_time() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        with VirtualClock():
            async with asyncio.timeout(30):
                reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
                assert await reader.read() == b"hello"
                writer.close()


@pytest.mark.parametrize("given", [{"clock": "virtual", "voice": True}, {"clock": "fast"}])
def test_another_clock_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed: 'real', and 'virtual' without voice"):
        TestCall(Slow, **given)
