"""The hotel's agent, written as anybody would write one: what the front desk says, and what it can do.

It reaches no hotel. What is booked is kept for the call, and numbers of tables and taxis are made up.
"""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import Field

from voiceagent.agents import Agent, ToolFailed, tool
from voiceagent.demo.spoken_times import minutes_of
from voiceagent.demo.world import spoken_number, system_prompt

TABLES, TAXIS = 20, 90
BREAKFAST = 7 * 60, 10 * 60 + 30
"""From when to when, in minutes from midnight."""


class FrontDesk(Agent):
    """Answers callers of the hotel, books breakfast, wakes, orders taxis, and gets a colleague.

    booked: what has been done for this caller, in words.
    """

    def __init__(self) -> None:
        self.booked: list[str] = []
        self._random = Random()

    def instructions(self) -> str:  # type: ignore[override]  # a method in place of a text
        """The page of the hotel."""
        return system_prompt()

    @tool
    async def order_taxi(self, destination: str = "", time: str = "") -> str:
        """Order a taxi to the hotel. destination: where it goes; time: when it is to come, if not at once."""
        where = f" to {destination}" if destination else ""
        when = f" at {time}" if time else " in ten minutes"
        return self._done("ordered", f"taxi {self._number(TAXIS)}{where}{when}")

    @tool
    async def wake_up_call(self, time: str) -> str:
        """Have the caller's room called to wake him. time: when."""
        if minutes_of(time) is None:
            raise ToolFailed("not done: it is not known when that is")
        return self._done("set", f"a wake-up call at {time}")

    @tool
    async def book_breakfast(self, people: Annotated[int, Field(ge=1, le=8)], time: str = "") -> str:
        """Book a table at the breakfast buffet. people: how many, children too; time: when they come."""
        at = minutes_of(time)
        if time and (at is None or not BREAKFAST[0] <= at <= BREAKFAST[1]):
            raise ToolFailed("not done: breakfast is from seven to ten thirty")
        guests = "one person" if people == 1 else f"{spoken_number(people)} people"
        when = f" at {time}" if time else ""
        return self._done("booked", f"breakfast for {guests}{when}, table {self._number(TABLES)}")

    @tool(when_played=True)
    async def connect_colleague(self) -> str:
        """Connect the caller to a colleague at the front desk. Say so first, in the same answer."""
        try:
            await self.call.transfer("front desk")
        except ToolFailed:  # over no phone line, or one that cannot
            return self._done("noted", "that a colleague will call you back within ten minutes")
        return "connected"

    @tool(when_played=True)
    async def hang_up(self) -> str:
        """End the call. Say goodbye first, in the same answer."""
        self.call.hang_up("the caller said goodbye")
        return "hung up"

    def _done(self, how: str, what: str) -> str:
        self.booked.append(what)
        return f"{how}: {what}"

    def _number(self, highest: int) -> str:
        return spoken_number(self._random.randint(1, highest))
