"""Tools that take long: they say how far they are, while they run."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.testing import Calls, TestCall


class Clerk(Agent):
    """Searches for half a minute, and says so."""

    @tool(timeout_s=60)
    async def search(self) -> str:
        """Searches every shop."""
        self.call.update("I am asking the shops.")
        self.late = asyncio.create_task(self._update_late())
        await asyncio.sleep(30)
        return "found"

    @tool(timeout_s=60)
    def count(self) -> str:
        """Counts the stock, in a thread."""
        self.call.update("   ")
        self.call.update("I am counting.")
        return "seven"

    async def _update_late(self) -> None:
        await asyncio.sleep(40)
        self.call.update("This comes too late.")


async def test_a_tool_says_how_far_it_is_and_its_result_is_spoken_of_afterwards() -> None:
    async with TestCall(Clerk, clock="virtual") as call:
        call.model_will(Calls("search"), "Found it.")
        await call.says("search please")
        assert call.words == ["I am asking the shops.", "Found it."]


async def test_a_task_that_outlives_its_tool_says_no_more() -> None:
    async with TestCall(Clerk, clock="virtual") as call:
        call.model_will(Calls("search"), "Found it.")
        await call.says("search please")
        await call.agent.late  # type: ignore[attr-defined]
        await call.waits()
        assert call.words == ["I am asking the shops.", "Found it."]


async def test_a_tool_in_a_thread_says_how_far_it_is() -> None:
    async with TestCall(Clerk) as call:
        call.model_will(Calls("count"), "Seven.")
        await call.says("how many")
        assert call.words == ["I am counting.", "Seven."]


async def test_an_update_outside_of_a_tool_is_refused_with_what_to_use() -> None:
    async with TestCall(Clerk, clock="virtual") as call:
        with pytest.raises(RuntimeError, match=r"allowed: in a tool, or say\(\)"):
            call.agent.call.update("Hello.")
        with pytest.raises(TypeError, match="allowed: a text"):
            call.agent.call.update(7)  # type: ignore[arg-type]
