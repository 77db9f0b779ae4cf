"""A KV cache that is too small for all who want it: vLLM takes blocks back, and no reply is lost by that."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
import pytest_asyncio

from llmcore.engine import DraftUse, Message, Request
from llmcore.engines.vllm_engine import VllmLlm

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

TOKENS = 160  # of a reply, with which four prompts and replies take more blocks than the shared engine has
SHIPS = ("a brig", "a barque", "a sloop", "a cutter")


async def reply(llm: VllmLlm, ship: str, proposals: int | None) -> str:
    question = f"What can you tell of {ship} that came by last night, and of all who sailed in her?"
    request = Request((Message("user", question),), max_tokens=TOKENS)
    async with aclosing(llm.generate(request, DraftUse(proposals))) as deltas:
        return "".join([delta.text async for delta in deltas])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def alone(speculating_vllm: VllmLlm) -> list[str]:
    """Replies that have the engine to themselves, without a draft: they are the same with one."""
    return [await reply(speculating_vllm, ship, 0) for ship in SHIPS]


@pytest.mark.parametrize("proposals", [0, None], ids=["without a draft", "with a draft"])
async def test_replies_that_are_put_back_for_room_come_whole(
    speculating_vllm: VllmLlm, alone: list[str], proposals: int | None
) -> None:
    before = speculating_vllm.load().preemptions or 0
    at_once = await asyncio.gather(*(reply(speculating_vllm, ship, proposals) for ship in SHIPS))
    assert (speculating_vllm.load().preemptions or 0) > before
    assert at_once == alone
