"""Errors reported for an agent's failing code."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from voiceagent.agents import Agent, Said
from voiceagent.agents.digits import DigitEntry
from voiceagent.agents.running import RunningAgent, running_agent
from voiceagent.conversation.events import AgentEvent, HookFailed, LanguageSet, TurnsClaimed
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.session.agent import AnsweredBy, OfferedTool, ToolFailed
from voiceagent.session.call import CallRefused


class FakeCall:
    """An `AgentSession` that keeps what was posted."""

    line = None
    language = "en"
    languages: Sequence[str] = ()
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


class Shy(Agent):
    """Cannot greet whom it does not know."""

    ended = False
    transcript: Sequence[Said] = ()

    @property
    def greeting(self) -> str:  # type: ignore[override]  # a property in place of a text
        return f"Hello, {self.call.parameters['from']}."

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        self.ended, self.transcript = True, transcript


class Forgetful(Agent):
    """Instructions that cannot be spoken after a tool."""

    orders: Sequence[str] | None = ("tuna",)

    def instructions(self) -> str:
        if self.orders is None:
            raise ValueError("there are no orders")
        return "You take orders."


async def failed(agent: Agent) -> HookFailed:
    """Return the failure that the call reports for a hook of this agent."""
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


async def test_a_greeting_that_fails_is_told_to_the_call_and_nothing_is_said() -> None:
    call, running = FakeCall(), RunningAgent("call_1", Shy)
    running.join(call)
    assert running.greeting == ""
    assert call.posted[0] == HookFailed("greeting", told_at(Shy.greeting), "KeyError: 'from'")
    running.identify({"from": "+15550123"})
    assert running.greeting == "Hello, +15550123."


class Moody(Agent):
    """Its database may be gone, for those who know that they call."""

    def instructions(self) -> str:
        if self.call.parameters.get("from") == "+1555":
            raise SystemExit("the database is gone")
        return "You take orders."


async def test_an_agent_of_a_number_that_fails_is_told_to_the_call_and_the_usual_one_answers() -> None:
    call, running = FakeCall(), RunningAgent("call_1", Shy, lambda _: Moody())
    running.join(call)
    running.identify({"from": "+1555"})
    (told,) = call.posted
    assert isinstance(told, HookFailed)
    assert (told.name, told.reason) == ("choose", "SystemExit: the database is gone")
    assert running.greeting == "Hello, +1555."


def test_a_call_whose_agent_fails_at_its_beginning_is_refused_and_logged_once() -> None:
    def make() -> Agent:
        raise OSError("the database is gone")

    with capture_logs() as told, pytest.raises(CallRefused, match="the agent failed as the call began"):
        running_agent("call_1", make, lambda _: None)
    (line,) = told
    assert (line["event"], line["call"], line["where"]) == (
        "agent_failed", "call_1", "the beginning of the call",
    )  # fmt: skip


async def test_what_a_phone_line_told_is_nobodys_words() -> None:
    call, agent = FakeCall(), Shy()
    about = MessageItem("1", "user", "[About this call: {}]", by_line=True)
    noted = MessageItem("2", "assistant", "Noted.", by_line=True)
    call.items = (about, noted, MessageItem("3", "user", "a room please"))
    running = RunningAgent("call_1", lambda: agent)
    running.join(call)
    running.begin()
    running.end()
    await running.hooks_over()
    assert agent.transcript == (Said("user", "a room please"),)


async def test_an_agent_is_told_of_the_end_of_a_call_that_has_begun_and_of_no_other() -> None:
    for begins in (True, False):
        call, agent = FakeCall(), Shy()
        running = RunningAgent("call_1", lambda agent=agent: agent)  # type: ignore[misc]
        running.join(call)
        if begins:
            running.begin()
        running.end()
        await running.hooks_over()
        assert agent.ended == begins


def told_at(greeting: object) -> str:
    """Return the place of the property's only line."""
    assert isinstance(greeting, property)
    line = greeting.fget.__code__.co_firstlineno + 2
    return f"test_running.py:{line}, in greeting"


class Answered:
    """An answer to an outbound call by a person."""

    async def kind(self) -> AnsweredBy | None:
        return "person"


@pytest.mark.parametrize("collects", [True, False])
async def test_an_answer_does_not_end_the_collection_of_input(collects: bool) -> None:
    call, running = FakeCall(), RunningAgent("call_1", Shy)
    running.join(call)
    entry = asyncio.create_task(running.caller.digits(call, "", DigitEntry(4, "#", "en", True), 60))
    await asyncio.sleep(0)
    if not collects:
        running.caller.end()
        with pytest.raises(ToolFailed):
            await entry
        call.posted.clear()
    await running._await_answer(Answered())
    assert (TurnsClaimed(False) in call.posted) is not collects
    running.caller.end()
    await asyncio.gather(entry, return_exceptions=True)


async def test_agent_sets_the_language_of_a_call_that_has_several() -> None:
    call, agent = FakeCall(), Agent()
    call.languages = ("en", "de")
    RunningAgent("call_1", lambda: agent).join(call)
    assert agent.call.language == "en"
    agent.call.set_language("de")
    assert call.posted[-1:] == [LanguageSet("de")]


async def test_language_that_calls_do_not_have_is_refused_with_the_allowed_ones() -> None:
    call, agent = FakeCall(), Agent()
    call.languages = ("en", "de")
    RunningAgent("call_1", lambda: agent).join(call)
    with pytest.raises(ValueError, match=r"set_language\('fr'\); allowed: en, de"):
        agent.call.set_language("fr")
