"""The hotel's agent, written as anybody would write one: what the front desk says, and what it can do.

It reaches no hotel. What is booked is kept for the call, and numbers of tables and taxis are made up.
"""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import Field

from voiceagent.agents import Agent, ToolFailed, tool
from voiceagent.demo import front_desk
from voiceagent.demo.world import system_prompt


class FrontDesk(Agent):
    """Answers callers of the hotel, books breakfast, wakes, orders taxis, and gets a colleague.

    Where a taxi goes is for its driver to hear: a model as small as the demo's learns to say back times and
    numbers, not any word. What was done is spoken from a template, so that the caller does not wait for a
    second response of the model.

    booked: what has been done for this caller, in words.
    """

    def __init__(self) -> None:
        self.booked: list[str] = []
        self._random = Random()

    def instructions(self) -> str:
        """Return the page of the hotel."""
        return system_prompt()

    @tool(speaks_result=front_desk.words_for)
    async def order_taxi(self, time: str = "") -> str:
        """Order a taxi to the hotel. time: when it is to come, if not at once."""
        return self._done("order_taxi", time=time)

    @tool(speaks_result=front_desk.words_for)
    async def wake_up_call(self, time: str) -> str:
        """Have the caller's room called to wake him. time: when."""
        return self._done("wake_up_call", time=time)

    @tool(speaks_result=front_desk.words_for)
    async def book_breakfast(self, people: Annotated[int, Field(ge=1, le=8)], time: str = "") -> str:
        """Book a table at the breakfast buffet. people: how many, children too; time: when they come."""
        return self._done("book_breakfast", people=people, time=time)

    @tool(when_played=True)
    async def connect_colleague(self) -> str:
        """Connect the caller to a colleague at the front desk. Say so first, in the same answer."""
        try:
            await self.call.transfer("front desk")
        except ToolFailed:  # over no phone line, or one that cannot
            return self._noted(front_desk.CALLS_BACK)
        return "connected"

    @tool(when_played=True)
    async def hang_up(self) -> str:
        """End the call. Say goodbye first, in the same answer."""
        self.call.hang_up("the caller said goodbye")
        return front_desk.HUNG_UP

    def _done(self, tool: str, *, time: str, **others: int) -> str:
        """Run a tool at the time that the caller said, and record the result. Raises ToolFailed."""
        said = [turn.text for turn in self.call.transcript if turn.role == "user"]
        try:
            return self._noted(front_desk.DO[tool](self._random, time=front_desk.heard(time, said), **others))
        except front_desk.NotDone as error:
            raise ToolFailed(str(error)) from error

    def _noted(self, done: str) -> str:
        self.booked.append(done.partition(": ")[2])
        return done
