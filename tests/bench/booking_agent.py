"""An agent whose tools write down what they did, and a model that calls one for every turn of a caller."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path

from voiceagent.agents import Agent, tool
from voiceagent.engines.own import Delta, Request, ToolCall, Usage
from voiceagent.session.call import new_id

EFFECTS = Path(__file__).with_name("effects.jsonl")
TOLD = "It is booked, and there is a lot more to be said about tables in this house."
TOOK_S = 2.0
"""The longest that a tool takes."""


class Booking(Agent):
    """Books whatever is wanted."""

    instructions = "You book tables."

    @tool(filler="I am booking it.")
    async def book(self, table: str) -> str:
        """Book a table."""
        await asyncio.sleep(random.uniform(0, TOOK_S))
        return _booked(table)

    @tool(cancellable=True)
    async def hold(self, table: str) -> str:
        """Keep a table for a moment."""
        await asyncio.sleep(random.uniform(0, TOOK_S))
        return _booked(table)


def _booked(table: str) -> str:
    """The effect, and its receipt; nothing comes between the two."""
    receipt = new_id("receipt")
    with EFFECTS.open("a") as effects:
        effects.write(json.dumps({"table": table, "receipt": receipt}) + "\n")
    return receipt


class BookingLlm:
    """Calls a tool after each turn of the caller, each time for another table, and reports its result."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        last = request.messages[-1]
        if last.role == "tool" or "has ended by now" in last.content:
            for word in TOLD.split():
                await asyncio.sleep(0.02)
                yield Delta(f"{word} ")
            yield Delta(finish_reason="stop", usage=Usage())
            return
        if random.random() < 0.3:
            yield Delta("One moment please, I am looking. ")
        table = json.dumps({"table": new_id("table")})
        name = "hold" if random.random() < 0.3 else "book"
        yield Delta(tool_calls=(ToolCall(new_id("call"), name, table),))
        yield Delta(finish_reason="tool_calls", usage=Usage())
