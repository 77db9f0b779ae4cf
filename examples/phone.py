"""A phone line: the caller's number, office hours, and a transfer to a colleague. `phone.toml` serves it."""

from collections.abc import Sequence
from datetime import datetime

from voiceagent.agents import Agent, Said, tool


class Office(Agent):
    """Answers calls to the office. The provider sends the caller's number as `from`."""

    instructions = "You answer the phone of an office. Offer to connect callers to a colleague. Be brief."

    @property
    def greeting(self) -> str:
        """Return the first words. A caller's number can be faked, so it unlocks nothing."""
        known = self.call.parameters.get("from") == "+15550123"
        return "Welcome back. What can I do for you?" if known else "Good day. What can I do for you?"

    @tool
    async def office_hours(self) -> str:
        """Tell whether a colleague is in the office now."""
        now = datetime.now()
        return "somebody is here" if now.weekday() < 5 and 9 <= now.hour < 17 else "nobody is here"

    @tool(when_played=True)
    async def connect(self) -> None:
        """Connect the caller to a colleague. Say so first, in the same answer."""
        await self.call.transfer("reception")

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        """Print the transcript; an application would store it."""
        for said in transcript:
            print(f"{said.role}: {said.text}")
