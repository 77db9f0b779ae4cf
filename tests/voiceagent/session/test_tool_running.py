"""Tools at the end of a call: one that may not be cancelled continues, without its call."""

from __future__ import annotations

import asyncio
import time

import pytest
from call_services import call_monitor
from structlog.testing import capture_logs

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation.config import BudgetConfig
from voiceagent.conversation.events import AgentEvent, ToolFinished, ToolSlow
from voiceagent.conversation.settings import AgentTool
from voiceagent.session.agent import OfferedTool, ToolFailed, ToolResult
from voiceagent.session.services import Measuring
from voiceagent.session.tool_running import ToolRunner
from voiceagent.telemetry.metrics import Metrics


class Booking:
    """A tool that ends when it is let, in a call that ends in the middle of it."""

    def __init__(self, cancellable: bool) -> None:
        self.began, self.may_end, self.over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.outcome = ""
        self.offered = OfferedTool(AgentTool(Tool("book", ""), cancellable), self._run)
        measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
        self.runner = ToolRunner("tested", measuring, lambda _: None, call_monitor(), 60.0, self._ended)

    async def _run(self, arguments: str) -> ToolResult:
        self.began.set()
        await self.may_end.wait()
        return ToolResult("booked")

    def _ended(self, name: str, failure: str) -> None:
        self.outcome = failure or "done"
        self.over.set()

    async def outcome_after_call(self) -> str:
        """Return its outcome after the call is closed."""
        await self.began.wait()
        await self.runner.close()
        self.may_end.set()
        await self.over.wait()
        return self.outcome


@pytest.mark.parametrize(("cancellable", "outcome"), [(False, "done"), (True, "it was cancelled")])
async def test_only_what_may_be_cancelled_ends_with_the_call(cancellable: bool, outcome: str) -> None:
    booking = Booking(cancellable)
    booking.runner.offer([booking.offered], "agent")
    booking.runner.run(ToolCall("call_1", "book", "{}"))
    assert await booking.outcome_after_call() == outcome


def named(name: str, told: str, server: str = "") -> OfferedTool:
    """Return a tool whose result is `told`."""

    async def run(arguments: str) -> ToolResult:
        return ToolResult(told)

    return OfferedTool(AgentTool(Tool(name, told)), run, server=server)


async def test_a_tool_that_is_named_like_an_earlier_one_is_renamed_runs_and_is_logged() -> None:
    measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
    posted: list[AgentEvent] = []
    runner = ToolRunner("tested", measuring, posted.append, call_monitor(), 60.0, lambda name, failure: None)
    with capture_logs() as logs:
        runner.offer([named("look", "crm's", "crm"), named("look", "shop's", "shop")], "mcp")
        runner.offer([named("look", "the line's")], "line")
        tools = runner.offer([named("look", "the agent's")], "agent")
        runner.offer([named("look", "the agent's")], "agent")
    assert [(tool.name, tool.tool.description) for tool in tools] == [
        ("look", "the agent's"),
        ("line_look", "the line's"),
        ("crm_look", "crm's"),
        ("shop_look", "shop's"),
    ]
    renamed = [(line["owner"], line["offered_as"]) for line in logs if line["event"] == "tool_renamed"]
    assert sorted(renamed) == [("crm", "crm_look"), ("line", "line_look"), ("shop", "shop_look")]
    for tool in tools:
        runner.run(ToolCall(tool.name, tool.name, "{}"))
    await asyncio.wait(runner.at_work)
    assert [event.output for event in posted if isinstance(event, ToolFinished)] == [
        tool.tool.description for tool in tools
    ]


async def test_the_log_names_the_mcp_server_of_a_tool_that_failed() -> None:
    async def fail(arguments: str) -> ToolResult:
        raise ToolFailed("Error executing tool look")

    measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
    runner = ToolRunner("tested", measuring, lambda _: None, call_monitor(), 60.0, lambda name, failure: None)
    runner.offer([OfferedTool(AgentTool(Tool("look", "")), fail, server="crm")], "mcp")
    with capture_logs() as logs:
        runner.run(ToolCall("call_1", "look", "{}"))
        await asyncio.wait(runner.at_work)
    (line,) = [line for line in logs if line["event"] == "tool"]
    assert (line["server"], line["outcome"], line["reason"]) == ("crm", "failed", "Error executing tool look")


async def test_a_tool_of_an_agent_that_handed_over_runs_on() -> None:
    booking = Booking(cancellable=False)
    booking.runner.offer([booking.offered], "agent")
    booking.runner.run(ToolCall("call_1", "book", "{}"))
    await booking.began.wait()
    booking.runner.offer([], "agent")
    assert await booking.outcome_after_call() == "done"


async def test_a_tool_that_was_given_with_its_call_runs_on() -> None:
    booking = Booking(cancellable=False)
    booking.runner.run(ToolCall("call_1", "book", "{}"), booking.offered)
    await booking.began.wait()
    await booking.runner.close()
    (task,) = booking.runner.at_work  # which a server that ends waits for
    assert await booking.outcome_after_call() == "done"
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert not booking.runner.at_work


async def test_a_tool_that_has_not_begun_when_its_call_ends_does_not_begin() -> None:
    booking = Booking(cancellable=False)
    booking.runner.run(ToolCall("call_1", "book", "{}"), booking.offered)
    await booking.runner.close()
    await booking.over.wait()
    assert booking.outcome == "it was cancelled"
    assert not booking.began.is_set()


async def test_a_tool_that_is_cancelled_before_it_began_does_not_begin() -> None:
    booking = Booking(cancellable=True)
    booking.runner.run(ToolCall("call_1", "book", "{}"), booking.offered)
    booking.runner.cancel("call_1")
    await booking.over.wait()
    assert booking.outcome == "it was cancelled"
    assert not booking.began.is_set()


async def test_the_clients_tool_is_slow_after_the_same_time_as_the_agents_but_not_after_the_call() -> None:
    measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
    posted: asyncio.Queue[AgentEvent] = asyncio.Queue()
    post = posted.put_nowait
    runner = ToolRunner("tested", measuring, post, call_monitor(), 0.01, lambda name, failure: None)
    runner.await_client("theirs_1")
    assert await posted.get() == ToolSlow("theirs_1")
    runner.await_client("theirs_2")
    await runner.close()
    await asyncio.sleep(0.02)
    assert posted.empty()
