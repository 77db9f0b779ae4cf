"""Prefilling: one prefill at a time, the newest prompt, nothing once a response is asked for. And the end
that the LLM is asked for in a pause.
"""

from __future__ import annotations

import asyncio

import pytest

from llmcore.engine import BusyError, LlmError, Message, Request, Usage
from voiceagent.conversation.commands import AskTurnEnd
from voiceagent.conversation.events import Event, TurnEndScored
from voiceagent.session.prefilling import Prefilling, TurnEndScoring


class Reader:
    """An LLM that reads when it is let, and notes what it read."""

    def __init__(
        self, caches: bool = True, failure: LlmError | None = None, end: float | None = None
    ) -> None:
        self.caches = caches
        self.end = end
        self.failure = failure
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
        if self.failure is not None:
            raise self.failure
        told = self.end if request.asks_end else None
        return Usage(end_log_probability=told) if self.caches else None


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


@pytest.mark.parametrize("failure", [LlmError("gone"), BusyError("no room to read ahead now")])
async def test_a_failure_is_left_to_the_response_and_the_next_words_are_read(failure: LlmError):
    llm = Reader(failure=failure)
    prefilling = Prefilling("call", llm)  # type: ignore[arg-type]  # only `prefill` is used
    llm.let.release()
    prefilling.prefill(prompt("how"), ())
    await turn_of_the_loop()
    prefilling.prefill(prompt("how much"), ())
    await turn_of_the_loop()
    assert llm.read == ["how", "how much"]
    prefilling.stop()


async def asked_for_the_end(llm: Reader, *words: str, answers: int = 1) -> list[Event]:
    """Ask for the end of each, one right after the other; what is posted when the LLM has answered."""
    told: list[Event] = []
    asking = TurnEndScoring("call", llm, told.append)  # type: ignore[arg-type]  # only `prefill` is used
    for text in words:
        asking.ask(AskTurnEnd("item", text, prompt(text), ()), prompt(text))
        await turn_of_the_loop()
    for _ in range(answers):
        llm.let.release()
    await turn_of_the_loop()
    return told


async def test_the_end_that_the_llm_tells_is_posted_with_its_words():
    assert await asked_for_the_end(Reader(end=-0.5), "how much") == [TurnEndScored("item", "how much", -0.5)]


async def test_a_newer_question_for_the_end_takes_the_place_of_an_older():
    llm = Reader(end=-0.5)
    told = await asked_for_the_end(llm, "how much", "how much is it", answers=2)
    assert told == [TurnEndScored("item", "how much is it", -0.5)]
    assert llm.cancelled == 1


async def test_an_engine_that_tells_no_end_or_fails_posts_nothing():
    for llm in (Reader(), Reader(caches=False), Reader(failure=LlmError("gone"))):
        assert await asked_for_the_end(llm, "how much") == []
