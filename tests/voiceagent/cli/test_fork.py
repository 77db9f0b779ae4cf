"""Kept calls under another configuration."""

from __future__ import annotations

from pathlib import Path

from call_world import CallWorld
from fixed_config import write_config
from logged_call import log_of

from llmcore.engine import Tool
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.cli.fork import with_agent
from voiceagent.config.tables import Config, load
from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import AgentTool

AGENTS = '''
from voiceagent.agents import Agent, tool

class Desk(Agent):
    instructions = "You are the desk."

    @tool
    async def book(self) -> str:
        """Book a room."""
        return "booked"

class Polite(Agent):
    instructions = "You are the polite desk."

    @tool
    async def ask_boss(self) -> str:
        """Ask the boss."""
        return "asked"
'''


def configured(folder: Path, agent: str) -> Config:
    (folder / "forked_agents.py").write_text(AGENTS)
    path = write_config(folder)
    path.write_text(path.read_text().replace("instructions =", 'python = "" #'))
    return load(path, {"agent.python": f'"forked_agents:{agent}"'})


def offered(*names: str) -> tuple[AgentTool, ...]:
    return tuple(AgentTool(Tool(name, name, {"type": "object"})) for name in names)


def a_call() -> CallLog:
    """The desk has the call, with a tool of the line, and hands it over to billing."""
    world = CallWorld()
    world.feed(ev.AgentChanged("Desk", offered("book", "transfer"), "You are the desk."))
    world.feed(ev.CallStarted("Hello."))
    world.feed(ev.AgentChanged("Billing", offered("refund", "transfer"), "You are billing."))
    return read_log(log_of(world))


def agents_in(log: CallLog) -> list[tuple[str | None, list[str]]]:
    """Return the instructions and the tools of each agent that had the call."""
    changes = [record.event for record in log.records if isinstance(record.event, ev.AgentChanged)]
    return [(one.instructions, [tool.name for tool in one.tools]) for one in changes]


def test_another_class_brings_its_instructions_and_tools_and_leaves_the_others(tmp_path: Path) -> None:
    log = with_agent(a_call(), configured(tmp_path, "Desk"), configured(tmp_path, "Polite"))
    assert agents_in(log) == [
        ("You are the polite desk.", ["ask_boss", "transfer"]),
        ("You are billing.", ["refund", "transfer"]),
    ]


def test_the_same_class_changes_nothing(tmp_path: Path) -> None:
    log = a_call()
    assert with_agent(log, configured(tmp_path, "Desk"), configured(tmp_path, "Desk")) is log
