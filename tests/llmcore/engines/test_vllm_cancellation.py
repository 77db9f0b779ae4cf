"""Closing a reply reaches vLLM: its part of the KV cache is free, by the engine's own counters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from llmcore.engine import Message, Request
from llmcore.engines.vllm_engine import VllmLlm

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

PATIENCE_S = 60.0
LONG = "I would like to know what there is to see from up here. " * 2


@pytest_asyncio.fixture(loop_scope="session")
async def beside(vllm: VllmLlm) -> AsyncIterator[None]:
    """Keep a response running: an idle engine reports nothing."""
    deltas = vllm.generate(Request((Message("user", "forever"),), max_tokens=460))
    await anext(deltas)

    async def read() -> None:
        async for _ in deltas:
            pass

    reading = asyncio.create_task(read())
    yield
    assert not reading.done(), "it ended too soon to tell anything"
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def until(told: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not told():  # noqa: ASYNC110 - vLLM's counters tell nobody when they change
            await asyncio.sleep(0.001)


async def test_the_cache_of_a_reply_that_is_cut_off_is_free_again(vllm: VllmLlm, beside: None) -> None:
    await until(lambda: vllm.load().running == 1)
    before = vllm.load().cache_usage
    assert before
    deltas = vllm.generate(Request((Message("user", LONG + "forever"),), max_tokens=200))
    await anext(deltas)
    await until(lambda: vllm.load().running == 2)
    taken = vllm.load().cache_usage
    assert taken and taken > before
    await deltas.aclose()
    await until(lambda: (vllm.load().cache_usage or 0.0) < taken)  # the other reply only takes more
    assert vllm.load().running == 1


async def test_so_is_that_of_a_prompt_that_was_being_read(vllm: VllmLlm, beside: None) -> None:
    await until(lambda: vllm.load().running == 1)
    question = Request((Message("user", LONG + "forever"),), max_tokens=200, priority_class="long")
    reading = asyncio.create_task(anext(vllm.generate(question)))
    while vllm.running < 2 and not reading.done():  # noqa: ASYNC110 - the engine tells nobody that it has taken a request
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert vllm.running == 1
    await until(lambda: vllm.load().running == 1 and vllm.load().waiting == 0)
