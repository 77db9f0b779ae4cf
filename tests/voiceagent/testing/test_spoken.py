"""Agents called by voice: the demo's synthesizer speaks for the caller, its recognizer hears the agent."""

from __future__ import annotations

from voiceagent.agents import Agent, tool
from voiceagent.testing import Calls, TestCall


class Desk(Agent):
    @tool
    async def opens(self, meal: str) -> str:
        """When a meal begins."""
        return f"{meal} at 7"


async def test_a_spoken_question_runs_a_tool_and_the_answer_is_heard() -> None:
    async with TestCall(Desk, voice=True) as call:
        call.model_will(Calls("opens", meal="breakfast"), "Breakfast begins at seven o'clock.")
        await call.says("When is breakfast?")
        assert [turn.strip(" ?.").lower() for turn in call.understood] == ["when is breakfast"]
        assert call.expect_tool("opens", meal="breakfast") == "breakfast at 7"
        call.expect_words("begins at 7 o'clock")
        await call.stays_silent()
        call.expect_words("are you still there")
        assert not call.hung_up
