"""A model that answers by a script: which step it is at follows from the history alone."""

from __future__ import annotations

from typing import Any

import pytest

from llmcore.engine import Message, Request, Role
from voiceagent.agents import Agent, tool
from voiceagent.testing import RehearsedModel, TestCall
from voiceagent.transports.telephony.call_start import call_data

SCRIPT = [
    [{"tool": "add", "arguments": {"pizza": "tuna"}}, "One tuna."],
    ["Anything else?"],
]


class Orders(Agent):
    greeting = "Pizza Roma."

    @tool(filler="Let me see.")
    async def add(self, pizza: str) -> str:
        """Add a pizza."""
        return f"{pizza} is added"


async def answered(*history: tuple[Role, str]) -> str:
    messages = tuple(Message(role, content) for role, content in history)
    deltas = RehearsedModel(SCRIPT).generate(Request(messages))
    return "".join([delta.text + "".join(call.name for call in delta.tool_calls) async for delta in deltas])


async def test_each_call_of_a_tool_is_followed_by_the_words_of_the_same_turn() -> None:
    asked: tuple[Role, str] = ("user", "tuna")
    assert await answered(("system", "s"), ("assistant", "hello"), asked) == "add"
    assert await answered(asked, ("assistant", ""), ("tool", "added")) == "One tuna."


async def test_words_before_a_call_are_said_in_the_response_that_calls() -> None:
    script = [["Let me see.", {"tool": "add", "arguments": {"pizza": "tuna"}}, "One tuna."]]
    model = RehearsedModel(script)
    deltas = [delta async for delta in model.generate(Request((Message("user", "tuna"),)))]
    assert [delta.text for delta in deltas if delta.text] == ["Let me see."]
    assert [call.name for delta in deltas for call in delta.tool_calls] == ["add"]
    history = (Message("user", "tuna"), Message("assistant", "Let me see."), Message("tool", "added"))
    (words, _) = [delta async for delta in model.generate(Request(history))]
    assert words.text == "One tuna."


async def test_two_messages_before_an_answer_are_one_turn() -> None:
    assert await answered(("user", "tuna"), ("user", "please")) == "add"
    assert await answered(("user", "tuna"), ("assistant", "One tuna."), ("user", "so")) == "Anything else?"


async def test_what_a_phone_line_tells_of_the_call_is_no_turn() -> None:
    told: tuple[Role, str] = ("user", call_data({"from": "+15550123"}))
    assert await answered(told, ("assistant", "hello"), ("user", "tuna")) == "add"


async def test_what_the_script_does_not_have_is_answered_shortly() -> None:
    said: list[tuple[Role, str]] = [("user", "a"), ("assistant", "b")] * 2
    assert await answered(*said, ("user", "c")) == "Okay."
    assert await answered(("system", "s"), ("assistant", "hello")) == "Okay."


async def test_its_tools_run_in_a_call_that_has_a_greeting_and_a_filler() -> None:
    async with TestCall(Orders, llm=RehearsedModel(SCRIPT)) as call:
        await call.says("a tuna please")
        assert call.expect_tool("add", pizza="tuna") == "tuna is added"
        call.expect_words("one tuna")
        await call.says("thanks")
        call.expect_words("anything else")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("hello", "'hello'; allowed: a list of the caller's turns"),
        (["hello"], "'hello'; allowed: a list of the caller's turns"),
        ([[{"call": "add"}]], "allowed: words, or a table with `tool` and `arguments`"),
        ([[{"tool": "add", "arguments": 3}]], "allowed: words, or a table"),
        ([[7]], "has 7; allowed: words"),
    ],
)
def test_a_script_that_is_none_is_refused(script: Any, told: str) -> None:
    with pytest.raises(ValueError, match=r"allowed") as refused:
        RehearsedModel(script)
    assert told in str(refused.value)
