"""An agent and its line: it transfers the caller, and asks for digits."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from voiceagent.agents import Agent, ToolFailed, caller_input, tool
from voiceagent.agents.caller_input import CallerInput, Words
from voiceagent.agents.digits import DigitEntry
from voiceagent.conversation.events import DictationBegan, TurnsClaimed
from voiceagent.session.agent import AgentSession
from voiceagent.testing import Calls, TestCall


class Bank(Agent):
    instructions = "You are a bank."

    @tool
    async def ask_pin(self, timeout_s: float = 30.0) -> str:
        """Ask for the PIN."""
        return "entered " + await self.call.collect_digits("Your PIN, please.", count=4, timeout_s=timeout_s)

    @tool
    async def ask_account(self) -> str:
        """Ask for the account, of any length."""
        return "entered " + await self.call.collect_digits()

    @tool
    async def ask_both(self) -> str:
        """Ask for the PIN and the account."""
        pin = await self.call.collect_digits("Your PIN, please.", count=4)
        return f"entered {pin} and {await self.call.collect_digits('Your account, please.')}"

    @tool(when_played=True)
    async def connect(self, whom: str = "", number: str = "") -> None:
        """Connect the caller."""
        await self.call.transfer(whom, number=number)

    @tool
    async def who_calls(self) -> str:
        """Tell the caller's number."""
        return self.call.parameters["from"]


async def test_keys_are_collected_and_go_to_the_tool_alone() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin"), "Thank you.")
        assert await call.says("let me in") == "Your PIN, please."
        assert await call.presses("4215") == "Thank you."
        assert call.expect_tool("ask_pin") == "entered 4215"
        assert len(call.model.requests) == 2, "the model is not asked about keys"


async def test_digits_are_taken_from_words_over_several_turns() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin"), "Thank you.")
        await call.says("let me in")
        assert await call.says("four, two") == ""
        assert await call.says("double one") == "Thank you."
        assert call.expect_tool("ask_pin") == "entered 4211"


async def test_what_is_said_is_dictated_until_all_of_it_came() -> None:
    happened: list[Any] = []
    session = cast("AgentSession", SimpleNamespace(post=happened.append, quiet=True))
    caller = CallerInput()
    asking = asyncio.create_task(caller.digits(session, "", DigitEntry(6, "#", "en"), 30.0))
    await asyncio.sleep(0)
    for text in ("four two", "one one three five"):
        caller.push(Words(text))
    assert await asking == "421135"
    dictated = [event.digits for event in happened if isinstance(event, DictationBegan)]
    assert dictated == [(6,), (4,)]
    assert happened[-1] == TurnsClaimed(False)


async def test_who_asks_for_a_moment_is_given_one_and_has_said_no_digit() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin"), "Thank you.")
        await call.says("let me in")
        assert await call.says("One moment, please.") == ""
        assert await call.says("One second. Four two double one") == "Thank you."
        assert call.expect_tool("ask_pin") == "entered 4211"


async def test_a_caller_who_says_something_else_is_answered_by_the_model() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin"), "Then come by.")
        await call.says("let me in")
        assert await call.says("I forgot it") == "Then come by."
        assert call.expect_tool("ask_pin") == "the caller gave no digits, but said: I forgot it"


async def test_a_finish_key_ends_an_entry_a_star_clears_it() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_account"))
        await call.says("my account")
        await call.presses("12*345#")
        assert call.expect_tool("ask_account") == "entered 345"


@pytest.mark.parametrize("keys", [["4215#"], ["4215", "#"]], ids=["at once", "later"])
async def test_a_number_of_known_length_may_be_ended_by_its_finish_key(
    monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    monkeypatch.setattr(caller_input, "PAUSE_S", 60.0)
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_both"), "Thank you.")
        await call.says("let me in")
        for pressed in keys:
            await call.presses(pressed)
        assert await call.presses("77#") == "Thank you."
        assert call.expect_tool("ask_both") == "entered 4215 and 77"


async def test_a_finish_key_long_after_the_number_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_input, "PAUSE_S", 0.0)
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin"), "Thank you.")
        await call.says("let me in")
        await call.presses("4215")
        with pytest.raises(AssertionError, match="no tool asks for digits"):
            await call.presses("#")


async def test_an_entry_of_any_length_ends_when_nothing_more_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_input, "PAUSE_S", 0.01)
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_account"), "Okay.")
        await call.says("my account")
        await call.presses("77")
        assert await call.waits() == "Okay."
        assert call.expect_tool("ask_account") == "entered 77"


async def test_an_entry_that_does_not_come_is_told_to_the_model() -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("ask_pin", timeout_s=0.01), "Are you there?")
        await call.says("let me in")
        assert await call.waits() == "Are you there?"
        assert call.expect_tool("ask_pin").startswith("the caller entered 0 of 4 digits and no more")


async def test_a_caller_who_has_hung_up_is_asked_for_nothing_any_more() -> None:
    session = cast("AgentSession", SimpleNamespace(post=lambda event: None, quiet=True))
    caller = CallerInput()
    asking = asyncio.create_task(caller.digits(session, "", DigitEntry(6, "#", "en"), 30.0))
    await asyncio.sleep(0)
    caller.end()
    for asked in (asking, caller.digits(session, "", DigitEntry(6, "#", "en"), 30.0)):
        with pytest.raises(ToolFailed, match="the call is over"):
            await asked


async def test_two_tools_do_not_ask_at_once() -> None:
    async with TestCall(Bank) as call:
        call.model_will([Calls("ask_pin"), Calls("ask_account")])
        await call.says("let me in")
        assert call.expect_tool("ask_account").startswith("not done: something else is asked")


async def test_keys_that_nobody_asked_for_are_an_error_of_the_test() -> None:
    async with TestCall(Bank) as call:
        with pytest.raises(AssertionError, match="key '1' was pressed, and no tool asks for digits"):
            await call.presses("1")


@pytest.mark.parametrize("to", [{"whom": "desk"}, {"number": "+4930"}])
async def test_the_caller_is_connected_and_the_model_says_no_more(to: dict[str, str]) -> None:
    async with TestCall(Bank) as call:
        call.model_will(Calls("connect", **to))
        await call.says("a person please")
        assert call.transferred_to == next(iter(to.values()))
        assert len(call.model.requests) == 1


async def test_a_call_without_a_phone_line_cannot_be_transferred() -> None:
    async with TestCall(Bank, phone=False) as call:
        call.model_will(Calls("connect", whom="desk"), "I cannot do that.")
        assert await call.says("a person please") == "I cannot do that."
        told = "this call cannot be transferred: it comes over no phone line"
        assert call.expect_tool("connect") == told


async def test_an_agent_knows_what_the_line_told_of_the_call() -> None:
    async with TestCall(Bank, parameters={"from": "+4930"}) as call:
        call.model_will(Calls("who_calls"))
        await call.says("who am I")
        assert call.expect_tool("who_calls") == "+4930"


def test_a_tool_failed_is_what_a_refusal_is() -> None:
    with pytest.raises(ToolFailed, match="the caller said 3 digits; wanted: 2"):
        caller_input.DigitEntry(2, "#", "en").say("one two three")
