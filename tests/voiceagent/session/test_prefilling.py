"""Prefilling: one prefill at a time, the newest prompt, nothing once a response is asked for."""

from __future__ import annotations

import asyncio

from llmcore.engine import LlmError, Message, Request, Usage
from voiceagent.session.prefilling import Prefilling


class Reader:
    """An LLM that reads when it is let, and notes what it read."""

    def __init__(self, caches: bool = True, fails: bool = False) -> None:
        self.caches = caches
        self.fails = fails
        self.let = asyncio.Semaphore(0)
        self.read: list[str] = []
        self.cancelled = 0

    async def prefill(self, request: Request) -> Usage | None:
        self.read.append(request.messages[-1].content)
        try:
            await self.let.acquire()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fails:
            raise LlmError("gone")
        return Usage() if self.caches else None


def prompt(words: str) -> tuple[Message, ...]:
    return (Message("user", words),)


async def turn_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_only_the_newest_of_the_prompts_that_waited_is_read():
    llm = Reader()
    prefilling = Prefilling("call", llm)  # type: ignore[arg-type]  # only `prefill` is used
    for words in ("how", "how much", "how much is"):
        prefilling.prefill(prompt(words), ())
        await turn_of_the_loop()
    assert llm.read == ["how"]
    llm.let.release()
    await turn_of_the_loop()
    assert llm.read == ["how", "how much is"]
    prefilling.stop()


async def test_a_response_stops_the_prefilling():
    llm = Reader()
    prefilling = Prefilling("call", llm)  # type: ignore[arg-type]  # only `prefill` is used
    prefilling.prefill(prompt("how"), ())
    await turn_of_the_loop()
    prefilling.stop()
    await turn_of_the_loop()
    assert llm.cancelled == 1


async def test_an_engine_without_a_cache_is_asked_once():
    llm = Reader(caches=False)
    prefilling = Prefilling("call", llm)  # type: ignore[arg-type]  # only `prefill` is used
    llm.let.release()
    for words in ("how", "how much"):
        prefilling.prefill(prompt(words), ())
        await turn_of_the_loop()
    assert llm.read == ["how"]


async def test_a_failure_is_left_to_the_response():
    llm = Reader(fails=True)
    prefilling = Prefilling("call", llm)  # type: ignore[arg-type]  # only `prefill` is used
    llm.let.release()
    prefilling.prefill(prompt("how"), ())
    await turn_of_the_loop()
    prefilling.prefill(prompt("how much"), ())
    await turn_of_the_loop()
    assert llm.read == ["how", "how much"]
    prefilling.stop()
