"""Errors of an agent's class appear at its definition, with the allowed values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.agents.agent import WrongAgent


def written(**members: Any) -> type[Agent]:
    return type("Shop", (Agent,), members)


async def on_turn(self: Agent, text: str) -> None:
    """As it is to be."""


async def a_tool(self: Agent, text: str) -> None:
    """Note what was said."""


def plain(self: Agent, text: str) -> None:
    """Is not asynchronous."""


async def without_text(self: Agent) -> None:
    """Takes too little."""


def test_texts_may_be_made_when_they_are_needed() -> None:
    written(
        instructions=partial(str, "Be brief."), leave_message=property(lambda self: "Call us."), voice=None
    )


def test_hooks_as_they_are_to_be_are_taken() -> None:
    written(on_turn=on_turn, instructions="Be brief.", greeting=property(lambda self: "Hello."))


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"on_turn": plain}, r"Shop\.on_turn: not asynchronous; allowed: async def on_turn\(self, text\)"),
        ({"on_turn": without_text}, r"Shop\.on_turn: too many positional arguments; allowed: async def"),
        ({"instructions": without_text}, r"Shop\.instructions: async; allowed: a text or a plain method"),
        ({"greeting": plain}, r"Shop\.greeting: a method; allowed: a text, or a property"),
        ({"tools": [plain]}, r"Shop\.tools: .* its tools are its methods with @tool"),
        ({"call": plain}, r"Shop\.call: every agent has this from Agent; allowed: another name"),
        ({"on_call_start": on_turn}, r"Shop\.on_call_start: there is no such hook; .*on_call_began"),
        ({"on_enter": on_turn}, r"on_enter: there is no such hook; allowed: on_call_began"),
        ({"on_turn": tool(a_tool)}, r"Shop\.on_turn: a tool with a hook's name; allowed: another name"),
        ({"instructions": 5}, r"Shop\.instructions: 5; allowed: a text, or a method"),
        ({"greeting": None}, r"Shop\.greeting: None; allowed: a text, or a property"),
        ({"leave_message": None}, r'Shop\.leave_message: None; allowed: a text, "" for none'),
        ({"voice": 5}, r"Shop\.voice: 5; allowed: the name of a voice, or None"),
    ],
)
def test_what_would_fail_in_a_call_or_never_run_is_refused(members: dict[str, Any], told: str) -> None:
    with pytest.raises(WrongAgent, match=told):
        written(**members)


def test_a_dataclass_may_be_an_agent() -> None:
    @dataclass
    class Greeter(Agent):
        greeting: str = field(default="Hello.")
        notes: list[str] = field(default_factory=list)

    assert Greeter("Good evening.").greeting == "Good evening."
    with pytest.raises(WrongAgent, match=r"Shop\.greeting: 3; allowed: a text"):
        written(greeting=field(default=3))


def test_methods_of_its_own_may_begin_with_on() -> None:
    written(on_payment_received=on_turn, on_turn_of_the_screw=plain)


def test_instructions_that_are_no_text_are_refused() -> None:
    with pytest.raises(WrongAgent, match="Shop: its instructions are int; allowed: text"):
        written(instructions=lambda self: 3)().prompt()
