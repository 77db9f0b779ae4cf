"""Agents called by voice: the demo's synthesizer speaks for the caller, its recognizer hears the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.testing import Calls, TestCall


class Desk(Agent):
    @tool
    async def opens(self, meal: str) -> str:
        """Return when a meal begins."""
        return f"{meal} at 7"


async def test_a_spoken_question_runs_a_tool_and_the_answer_is_heard() -> None:
    async with TestCall(Desk, voice=True) as call:
        call.model_will(Calls("opens", meal="breakfast"), "Breakfast begins at seven o'clock.")
        await call.says("When is breakfast?")
        assert [turn.strip(" ?.,").lower() for turn in call.understood] == ["when is breakfast"]
        assert call.expect_tool("opens", meal="breakfast") == "breakfast at 7"
        call.expect_words("begins at 7 o'clock")
        await call.stays_silent()
        call.expect_words("are you still there")
        assert not call.hung_up


VOICE = """
import numpy as np
from voiceagent.engines.own import Speech, SynthesizerEngine

class Mute(SynthesizerEngine):
    rate_hz = 24_000
    def __init__(self, peak: int = 0, seconds: float = 0.5):
        self._sound = np.full(int(seconds * self.rate_hz), peak, np.int16)
    async def speak(self, text):
        if len(self._sound):
            yield Speech(self._sound)
"""


class Greeter(Agent):
    greeting = "Good morning."


@pytest.mark.parametrize(
    ("voice", "agent", "told"),
    [
        ("seconds = 0", Desk, "'When is breakfast\\?' cannot be heard: the synthesizer made no sound"),
        ("seconds = 0.5", Desk, "'When is breakfast\\?' cannot be heard: the synthesizer made no sound"),
        (
            "peak = 2000",
            Desk,
            "'When is breakfast\\?' was said, and nothing in its sound was taken for a voice",
        ),
        ("seconds = 0", Greeter, "the agent said 'Good morning.', and the synthesizer made no sound"),
    ],
)
async def test_a_voice_without_sound_fails_the_test_in_words(
    tmp_path: Path, voice: str, agent: type[Agent], told: str
) -> None:
    (tmp_path / "mute_voice.py").write_text(VOICE)
    recognizer = (
        '[recognizer]\nengine = "moonshine"\n[llm]\nengine = "voiceagent.testing:RehearsedModel"\nscript = []'
    )
    (tmp_path / "mute.toml").write_text(f'{recognizer}\n[synthesizer]\nengine = "mute_voice:Mute"\n{voice}\n')
    with pytest.raises(AssertionError, match=told):
        async with TestCall(agent, voice=tmp_path / "mute.toml") as call:
            await call.says("When is breakfast?")
