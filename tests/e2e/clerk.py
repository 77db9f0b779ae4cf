"""An agent with a tool, as a user writes it, and a model that calls the tool."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Literal

from voiceagent.agents import Agent, Said, tool
from voiceagent.engines.own import Delta, Request, ToolCall, Usage

LOG = Path(__file__).with_name("clerk.log")


class Clerk(Agent):
    """Takes orders."""

    greeting = "Hello."

    def __init__(self) -> None:
        self.ordered: list[str] = []

    def instructions(self) -> str:  # type: ignore[override]  # a method in place of a text
        return f"You take orders. So far: {', '.join(self.ordered) or 'none'}."

    @tool(timeout_s=5)
    async def order(self, pizza: Literal["salami", "tuna"], number: int = 1) -> str:
        """Order pizzas."""
        self.ordered.append(pizza)
        return f"{number} {pizza} ordered"

    async def on_turn(self, text: str) -> None:
        note(turn=text)

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        note(ended=[said.role for said in transcript], ordered=self.ordered)


class Polite(Agent):
    """Another agent of the same server."""

    instructions = "You are polite."


class Remembers(Agent):
    """Recognizes returning callers by the number that the line reports."""

    def instructions(self) -> str:  # type: ignore[override]  # a method in place of a text
        name = {"+15550123": "Anna"}.get(self.call.parameters.get("from", ""), "somebody new")
        return f"The caller: {name}. Said so far: {len(self.call.transcript)}."


class Greets(Agent):
    """Greets by a number that not every call has."""

    @property
    def greeting(self) -> str:  # type: ignore[override]  # a property in place of a text
        return f"Hello, {self.call.parameters['from']}."


class Bank(Agent):
    """Asks for a number at once, and hangs up."""

    instructions = "You ask for a number."

    async def on_call_began(self) -> None:
        note(entered=await self.call.collect_digits("Your number, please."))
        self.call.hang_up()


def note(**what: object) -> None:
    with LOG.open("a") as log:
        log.write(json.dumps(what) + "\n")


def words_to_say(request: Request) -> str:
    """Return the words that the application wants said since the caller's last turn, "" for none."""
    for message in reversed(request.messages):
        if message.role in ("user", "tool"):
            return ""
        if message.role == "system" and (found := re.search(r"and nothing else: ([^]]+)\]", message.content)):
            return found[1]
    return ""


class OrderingLlm:
    """Orders whatever it is asked, and says what the tool answered; then it hangs up, where it can."""

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """A call, or words."""
        last = request.messages[-1]
        if last.role != "tool" and (exact := words_to_say(request)):
            yield Delta(exact)
            yield Delta(finish_reason="stop", usage=Usage(10, 0, 5))
            return
        names = [tool.name for tool in request.tools]
        if last.role != "tool" and "order" in names:
            yield Delta(tool_calls=(ToolCall("call_1", "order", '{"pizza": "tuna", "number": 2}'),))
            yield Delta(finish_reason="tool_calls", usage=Usage(10, 0, 5))
            return
        yield Delta(f"I have {last.content}.")
        if "hang_up" in names:
            yield Delta(tool_calls=(ToolCall("call_2", "hang_up", "{}"),))
        yield Delta(finish_reason="stop", usage=Usage(10, 0, 5))

    async def prefill(self, request: Request) -> None:
        """There is no cache."""
