"""A small LLM that answers wrongly at once, and a larger one that corrects it later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from voiceagent.engines.own import Delta, Request, Usage

ANSWER = (
    "Breakfast is from six in the morning until ten, every day of the week. You will find it in the hall on "
    "the ground floor, next to the garden."
)
CORRECTION = "Breakfast is from seven."


FRONT = "review_engines:FrontLlm"
BACK = '[back_llm]\nengine = "review_engines:BackLlm"\n'
"""The table of the second."""


class FrontLlm:
    """Answers every question in the same way."""

    async def start(self) -> None:
        """Do nothing: there is no model to load."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Give the answer."""
        for word in ANSWER.split(" "):
            yield Delta(f"{word} ")
        yield Delta(finish_reason="stop", usage=Usage(10, 0, 30))

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""


class BackLlm(FrontLlm):
    """Corrects every answer that it has not corrected in this conversation. delay_s: time that it takes."""

    def __init__(self, delay_s: float = 1.0) -> None:
        self._delay_s = delay_s

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Give the verdict."""
        assert request.messages[-2].content == ANSWER
        await asyncio.sleep(self._delay_s)
        corrected = any(CORRECTION in message.content for message in request.messages[:-2])
        yield Delta("RIGHT" if corrected else f"WRONG: {CORRECTION}")
        yield Delta(finish_reason="stop", usage=Usage(40, 30, 5))
