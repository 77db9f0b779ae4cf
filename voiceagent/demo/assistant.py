"""The agent of `configs/chat.toml`: talks about anything, and has a clock, a calculator, timers and notes."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated

from pydantic import Field

from voiceagent.agents import Agent, ToolFailed, tool
from voiceagent.demo.arithmetic import NotArithmetic, evaluate
from voiceagent.demo.world import spoken_number

MAX_NOTES = 50
_MAX_MINUTES = 24 * 60

_INSTRUCTIONS = "You are a friendly voice assistant. Answer in one or two short spoken sentences."


class Assistant(Agent):
    """General conversation. notes: what this caller had written down, for the call."""

    instructions = _INSTRUCTIONS
    greeting = "Hello! Ask me anything, or let me set a timer or take a note."

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._timers: set[asyncio.Task[None]] = set()

    @tool
    async def current_time(self) -> str:
        """Tell the current time, the day and the date."""
        now = datetime.now().astimezone()
        return f"{now:%A, %B} {now.day}, {now.year}, {now:%I:%M %p}".replace(" 0", " ")

    @tool
    async def calculate(self, expression: str) -> str:
        """Work out a calculation. expression: with digits and signs, such as 17 * 23."""
        try:
            return f"{expression} = {evaluate(expression)}"
        except NotArithmetic as error:
            raise ToolFailed(str(error)) from error

    @tool
    async def set_timer(self, minutes: Annotated[float, Field(gt=0, le=_MAX_MINUTES)]) -> str:
        """Set a timer. minutes: after which it rings."""
        task = asyncio.create_task(self._ring(minutes))
        self._timers.add(task)
        task.add_done_callback(self._timers.discard)
        return f"set: a timer of {_spoken_minutes(minutes)}"

    @tool
    async def take_note(self, text: Annotated[str, Field(min_length=1, max_length=500)]) -> str:
        """Write something down for the caller. text: what to write."""
        if len(self.notes) >= MAX_NOTES:
            raise ToolFailed(f"there are {MAX_NOTES} notes already, and no room for more")
        self.notes.append(text)
        return f"written down: {text}"

    @tool
    async def get_notes(self) -> str:
        """Return what was written down in this call."""
        if not self.notes:
            return "there are no notes yet"
        return f"the notes say: {'; '.join(self.notes)}"

    async def on_call_ended(self, transcript: object) -> None:
        """Cancel the timers: nobody is left to hear them."""
        for task in tuple(self._timers):
            task.cancel()

    async def _ring(self, minutes: float) -> None:
        await asyncio.sleep(minutes * 60)
        self.call.say(f"Your timer of {_spoken_minutes(minutes)} is up.")


def _spoken_minutes(minutes: float) -> str:
    if minutes != int(minutes):
        return f"{minutes:g} minutes"
    return "one minute" if minutes == 1 else f"{spoken_number(int(minutes))} minutes"
