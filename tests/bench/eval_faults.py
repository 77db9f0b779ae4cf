"""Faults on purpose for `voiceagent eval`: agents, and a model that reads its prompt.

The model of the demo answers as it was trained, whatever its prompt says, so a contradiction in it shows
only with a model that reads it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from random import Random

from llmcore.engine import Delta, Request, Usage
from voiceagent.agents import Agent, tool
from voiceagent.conversation.words import words_of
from voiceagent.demo import front_desk
from voiceagent.demo.agent import FrontDesk
from voiceagent.demo.world import system_prompt


class WrongDefault(FrontDesk):
    """A front desk whose taxi comes at six, not at once, if the caller says no time."""

    @tool
    async def order_taxi(self, time: str = "six") -> str:
        """Order a taxi to the hotel. time: when it is to come, if not at once."""
        return self._noted(front_desk.order_taxi(self._random, time))


class Page(Agent):
    """A front desk without tools, for a model that reads its page."""

    instructions = system_prompt()


class Contradiction(Agent):
    """The same with a page that says two things about parking and about checking out."""

    instructions = (
        f"{system_prompt()}\nParking: free of charge for all guests.\nCheck-out: until twelve, at noon."
    )


class PageReader:
    """A model that reads out a line of its prompt whose topic is in the question, any of them."""

    def __init__(self) -> None:
        self._random = Random()

    async def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the line."""
        prompt, question = request.messages[0].content, "".join(words_of(request.messages[-1].content))
        lines = [line.partition(": ") for line in prompt.splitlines() if ": " in line]
        facts = [fact for topic, _, fact in lines if "".join(words_of(topic)) in question]
        yield Delta(self._random.choice(facts or ["Thank you for calling the Lakeside Hotel."]))
        yield Delta(finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""
