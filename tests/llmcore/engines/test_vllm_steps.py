"""Prompts are read in pieces, by the steps that the engine itself has counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from llmcore.engine import Delta, Message, Request
from llmcore.engine_load import STEP_SIZES
from llmcore.engines.vllm_engine import VllmLlm

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

STEP_TOKENS, PIECE_TOKENS = 256, 64  # of the engine that all tests share
PATIENCE_S = 60.0


async def text(deltas: AsyncGenerator[Delta, None]) -> str:
    async with aclosing(deltas):
        return "".join([delta.text async for delta in deltas])


async def steps(llm: VllmLlm, at_least: int = 0) -> list[float]:
    """Return the number of steps of each size, once there are `at_least` in all."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := llm.load().steps) is None or sum(found.tokens[:-1]) < at_least:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the engine reports some times a second
    return list(found.tokens[:-1])


async def settled(llm: VllmLlm) -> list[float]:
    """The same, when the engine has nothing to do and has reported all that it did."""
    found = await steps(llm)
    while True:
        await asyncio.sleep(2.0)
        before, found = found, await steps(llm)
        if found == before:
            return found


def sizes(counts: list[float], least: int, most: int) -> int:
    """Steps of more than `least` and at most `most` tokens."""
    return round(sum(counts[STEP_SIZES.index(least) + 1 : STEP_SIZES.index(most) + 1]))


async def test_a_prompt_longer_than_a_step_is_read_in_several(vllm: VllmLlm) -> None:
    before = await settled(vllm)
    question = "Please read all of this before you answer, and then begin to count. " * 3 + "count"
    asked = Request((Message("user", question),), max_tokens=20)  # its template says the question twice
    assert await text(vllm.generate(asked)) == " one two three four five"
    after = await steps(vllm, at_least=round(sum(before)) + 6)
    assert sizes(after, 128, STEP_TOKENS) > sizes(before, 128, STEP_TOKENS)
    assert sizes(after, STEP_TOKENS, 8192) == 0


async def test_a_long_prompt_is_read_in_pieces_beside_a_reply_that_goes_on(vllm: VllmLlm) -> None:
    before = await settled(vllm)
    beside = vllm.generate(Request((Message("user", "forever"),), max_tokens=400))
    async with aclosing(beside):
        await anext(beside)
        document = "What follows is a document of some length, of which nobody knows the end. " * 3 + "count"
        messages = (Message("user", document),)
        long = Request(messages, max_tokens=20, priority_class="long", reading_s=60.0)
        assert await text(vllm.generate(long)) == " one two three four five"
        pieces = 300 // PIECE_TOKENS
        after = await steps(vllm, at_least=round(sum(before)) + pieces)
        while sizes(after, 64, 128) < sizes(before, 64, 128) + pieces:
            after = await steps(vllm, at_least=round(sum(after)) + 1)
    assert sizes(after, 128, 8192) == sizes(before, 128, 8192)
