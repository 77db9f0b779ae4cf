"""Sounds that an agent plays beside its speech."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.agents.agent import WrongAgent
from voiceagent.session.background import AFTER_S
from voiceagent.testing import Calls, TestCall


class Clerk(Agent):
    """Types while it looks, and plays music while it asks a colleague."""

    typing_sound = "typing"

    def __init__(self) -> None:
        self.playing: list[tuple[str, ...]] = []

    async def on_call_began(self) -> None:
        self.room = self.call.background("room", volume_db=-6)

    @tool
    async def look(self) -> str:
        """Looks something up."""
        await asyncio.sleep(AFTER_S + 0.1)
        self.playing.append(TEST[0].sounds)
        return "found"

    @tool
    async def ask(self) -> str:
        """Asks a colleague."""
        with self.call.background("hold"):
            self.playing.append(TEST[0].sounds)
        self.playing.append(TEST[0].sounds)
        self.room.stop()
        self.room.stop()
        return "yes"


TEST: list[TestCall] = []


async def test_typing_sounds_while_a_tool_runs_and_ends_with_it():
    async with TestCall(Clerk, clock="virtual") as call:
        TEST[:] = [call]
        call.model_will(Calls("look"), "Found it.")
        await call.says("look please")
        assert call.agent.playing == [("room", "typing")]
        assert call.sounds == ("room",)


async def test_a_sound_begins_at_once_and_ends_with_its_block():
    async with TestCall(Clerk, clock="virtual") as call:
        TEST[:] = [call]
        call.model_will(Calls("ask"), "Yes.")
        await call.says("ask please")
        assert call.agent.playing == [("room", "hold"), ("room",)]
        assert call.sounds == ()


@pytest.mark.parametrize("wrong", ["no/such.wav", "", None])
async def test_an_unknown_sound_is_refused(wrong: Any):
    async with TestCall(Clerk) as call:
        with pytest.raises(ValueError, match="allowed: 'typing', 'hold', 'room'"):
            call.agent.call.background(wrong)


@pytest.mark.parametrize("wrong", [1, -61, float("nan"), True])
async def test_an_impossible_volume_is_refused(wrong: float):
    async with TestCall(Clerk) as call:
        with pytest.raises(ValueError, match="allowed: -60 to 0"):
            call.agent.call.background("hold", volume_db=wrong)


def test_a_typing_sound_that_does_not_exist_is_refused_with_the_class():
    with pytest.raises(WrongAgent, match=r"Loud\.typing_sound: the sound 'tping'"):
        type("Loud", (Agent,), {"typing_sound": "tping"})


async def test_a_sound_of_a_call_that_is_over_does_nothing(tmp_path: Path):
    async with TestCall(Clerk) as call:
        agent = call.agent
    with agent.call.background("hold") as sound:
        sound.stop()
