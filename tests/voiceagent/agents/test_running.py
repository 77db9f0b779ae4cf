"""What is told of an agent's code that fails."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.agents import Agent
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation.events import AgentEvent, HookFailed
from voiceagent.conversation.history import Item
from voiceagent.session.agent import OfferedTool


class FakeCall:
    """An `AgentDoes` that keeps what was posted."""

    line = None
    language = "en"
    quiet = True
    items: Sequence[Item] = ()

    def __init__(self) -> None:
        self.posted: list[AgentEvent] = []

    def post(self, event: AgentEvent) -> None:
        self.posted.append(event)

    def take_over(
        self, agent: str, tools: Sequence[OfferedTool], instructions: str, voice: str | None = None
    ) -> None:
        """Nothing."""


class Careless(Agent):
    """Its begin fails."""

    async def on_call_began(self) -> None:
        {}["the caller's number"]


class Forgetful(Agent):
    """What it is told to do cannot be said after a tool."""

    orders: Sequence[str] | None = ("tuna",)

    def instructions(self) -> str:
        if self.orders is None:
            raise ValueError("there are no orders")
        return "You take orders."


async def failed(agent: Agent) -> HookFailed:
    """What the call is told of a hook of this agent."""
    call, running = FakeCall(), RunningAgent("call_1", lambda: agent)
    running.join(call)
    if isinstance(agent, Forgetful):
        agent.orders = None
        running.tool_ended("order", "")
    running.begin()
    await running.hooks_over()
    event = call.posted[0]
    assert isinstance(event, HookFailed)
    return event


async def test_a_hook_that_fails_is_told_to_the_call_with_its_place() -> None:
    told = await failed(Careless())
    assert (told.name, told.reason) == ("on_call_began", 'KeyError: "the caller\'s number"')
    line = Careless.on_call_began.__code__.co_firstlineno + 1
    assert told.place == f"test_running.py:{line}, in on_call_began"


async def test_instructions_that_fail_are_told_to_the_call() -> None:
    told = await failed(Forgetful())
    assert (told.name, told.reason) == ("instructions", "ValueError: there are no orders")
