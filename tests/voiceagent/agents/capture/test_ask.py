"""`AgentCall.ask` in calls: the model is left out, and private words reach the agent's code alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from voiceagent.agents import Agent, ToolFailed, caller_input, tool
from voiceagent.agents.capture import Card, Email, PhoneNumber, YesNo
from voiceagent.conversation.events import SpeechRequested, TurnsClaimed
from voiceagent.conversation.machine import Conversation
from voiceagent.testing import Calls, TestCall

CARD = "4242 4242 4242 4242"


class Shop(Agent):
    instructions = "You are a shop."

    def __init__(self) -> None:
        self.card: str | None = None

    @tool(timeout_s=120)
    async def ask_email(self) -> str:
        """Ask for the e-mail address."""
        email = await self.call.ask(Email("What is your e-mail address?"))
        return email or "none"

    @tool(timeout_s=120)
    async def ask_number(self) -> str:
        """Ask for the telephone number."""
        return await self.call.ask(PhoneNumber("Your number?", lengths=(7,))) or "none"

    @tool(timeout_s=120)
    async def ask_card(self) -> str:
        """Ask for the card."""
        self.card = await self.call.ask(Card("Your card number, please."))
        return "paid"

    @tool(timeout_s=120)
    async def ask_nothing(self) -> str:
        """Ask for what cannot be asked for."""
        untyped: Any = "your name"
        return str(await self.call.ask(untyped))


async def test_an_address_is_captured_without_the_model() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_email"), "Thank you.")
        assert await call.says("send me the bill") == "What is your e-mail address?"
        assert await call.says("dan at gmail dot com") == "I have D, A, N, at gmail.com. Is that right?"
        assert "Bravo" in await call.says("No, B as in boy.")
        assert await call.says("Yes.") == "Thank you."
        assert call.expect_tool("ask_email") == "ban@gmail.com"
        assert len(call.model.requests) == 2, "the model is not asked about these turns"


async def test_the_read_back_may_be_answered_over_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Any] = []
    handle = Conversation.handle

    def kept(self: Conversation, event: Any) -> Any:
        posted.append(event)
        return handle(self, event)

    monkeypatch.setattr(Conversation, "handle", kept)
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_email"), "Thank you.")
        await call.says("send me the bill")
        await call.says("dan at gmail dot com")
        await call.says("Yes.")
    questions = [bool(event.answers) for event in posted if isinstance(event, SpeechRequested)]
    assert questions == [False, True]


async def test_a_caller_who_gives_up_yields_none() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_email"), "Never mind.")
        await call.says("send me the bill")
        assert await call.says("I don't have one.") == "Never mind."
        assert call.expect_tool("ask_email") == "none"


async def test_a_number_may_be_pressed() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_number"), "Thank you.")
        await call.says("call me back")
        assert await call.presses("5550123") == "I have 5 5 5, 0 1 2 3. Is that right?"
        assert await call.says("yes") == "Thank you."
        assert call.expect_tool("ask_number") == "5550123"


async def test_silence_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_input, "SILENCE_S", 0.01)
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_email"), "Are you there?")
        asked = await call.says("send me the bill")
        asked += " " + await call.waits()  # a slow machine may ask a second time before `says` returns
        assert asked == "What is your e-mail address? " * 3 + "Are you there?"
        assert call.expect_tool("ask_email") == "none"


async def test_the_digits_of_a_card_reach_the_agents_code_alone() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_card"), "Thank you.", "You are welcome.")
        await call.says("I want to pay")
        assert await call.says(CARD) == "I have 4 2 4 2. Is that right?"
        assert await call.says("Yes.") == "Thank you."
        await call.says("thanks")
        assert isinstance(call.agent, Shop)
        assert call.agent.card == CARD.replace(" ", "")
        prompts = json.dumps([str(request) for request in call.model.requests])
        assert "4242 4242" not in prompts
        texts = [said.text for said in call.agent.call.transcript if said.role == "user"]
        assert texts == ["I want to pay", "(private)", "(private)", "thanks"]


async def test_question_after_the_call_yields_none() -> None:
    async with TestCall(Shop) as call:
        context = call.agent.call
        running = context._caller
        running.end()
        assert await context.ask(Email("What is your e-mail address?")) is None


async def test_what_is_no_task_is_refused() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("ask_nothing"), "Sorry.")
        await call.says("hello")
        assert call.expect_tool("ask_nothing").startswith("the tool failed")


class _Backend:
    """A call with a realtime backend."""

    language, takes_turns, quiet = "en", False, True

    def __init__(self) -> None:
        self.posted: list[Any] = []

    def post(self, event: Any) -> None:
        self.posted.append(event)


async def test_private_input_is_refused_where_another_server_hears_the_call() -> None:
    from voiceagent.agents.call import AgentCall  # noqa: PLC0415
    from voiceagent.agents.caller_input import CallerInput  # noqa: PLC0415

    backend: Any = _Backend()
    call = AgentCall("", lambda: backend, lambda agent: None, CallerInput(), None)
    with pytest.raises(ToolFailed, match="realtime backend"):
        await call.ask(Card("Your card?"))
    assert TurnsClaimed(True, True) not in backend.posted
    assert YesNo("Shall I?").private is False
