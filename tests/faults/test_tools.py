"""Tools that hang: a plain function without end, as an HTTP client without a timeout is, and one that will
not be cancelled.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fault_calls import calling
from faulty_server import faulty_server

ROOT = Path(__file__).parents[2]
AGENT = '''import time
from voiceagent.agents import Agent, tool

class Shop(Agent):
    asked = 0

    @tool(timeout_s=0.5)
    def look(self, city: str) -> str:
        """Look it up."""
        Shop.asked += 1
        if Shop.asked <= 7:
            time.sleep(3600)
        return "sunny"
'''


HOLDS_ON = '''import asyncio
from voiceagent.agents import Agent, tool

class Shop(Agent):
    @tool(timeout_s=0.5)
    async def look(self, city: str) -> str:
        """Look it up."""
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
'''


def with_tools(config: str) -> str:
    """Its LLM calls the tool of the agent above."""
    text = config.replace('instructions = "You are a helpful assistant."', 'python = "hanging_shop:Shop"')
    before, after = text.split("[llm]")
    return f'{before}[llm]\nengine = "tool_engine:ToolLlm"\n\n[synthesizer]{after.split("[synthesizer]")[1]}'


async def test_tools_that_hang_hold_up_neither_others_nor_the_end_of_the_server(
    tmp_path: Path,
) -> None:
    shutil.copy(ROOT / "tests/e2e/tool_engine.py", tmp_path)
    (tmp_path / "hanging_shop.py").write_text(AGENT)
    with faulty_server(tmp_path, change=with_tools) as server:  # which must end when it is told to
        for number in range(8):
            async with calling(server.address) as caller:
                await caller.type("How is the weather?")
                assert await caller.turn() == "completed"  # the tool is called
                await caller.outcome()  # and told of
                assert ("sunny" in caller.said) == (number == 7), (number, caller.said)


async def test_a_tool_that_will_not_be_cancelled_does_not_keep_the_server_from_ending(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/e2e/tool_engine.py", tmp_path)
    (tmp_path / "hanging_shop.py").write_text(HOLDS_ON)
    with faulty_server(tmp_path, change=with_tools) as server:
        async with calling(server.address) as caller:
            await caller.type("How is the weather?")
            assert await caller.turn() == "completed"  # the tool is called
            await caller.outcome()  # and told of
    [left] = [line for line in server.log.splitlines() if "task_still_running" in line]
    assert "work of tool look" in left
