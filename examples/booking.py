"""Book a table: day and time, name and number are captured by typed tasks, without the model."""

from voiceagent.agents import Agent, ToolFailed, tool
from voiceagent.agents.capture import DateTime, Name, PhoneNumber, YesNo


class Bookings(Agent):
    """The model answers questions and calls `book`; the tasks ask, read back and let the caller correct."""

    instructions = "You answer for a small restaurant. To book a table, call book. Do not ask for details."
    greeting = "Hill Bistro, good evening."

    @tool(timeout_s=300)
    async def book(self) -> str:
        """Book a table. Asks the caller for day, time, name and number."""
        when = await self.call.ask(DateTime("For which day and time?"))
        name = await self.call.ask(Name("What is your last name? Please spell it.")) if when else None
        number = await self.call.ask(PhoneNumber("And your phone number?", lengths=(10,))) if name else None
        if when is None or name is None or number is None:
            raise ToolFailed("the caller gave up; ask what else you can do")
        if await self.call.ask(YesNo("Shall I send you a text message to confirm it?")):
            return f"booked for {name} on {when:%A at %H:%M}; a text message goes to {number}"
        return f"booked for {name} on {when:%A at %H:%M}"
