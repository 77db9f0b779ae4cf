"""Speculation in vLLM for some requests and not for others, with a draft that is right now and then."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engine import DraftUse, Message, Request
from llmcore.engine_load import EngineLoad
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.engines.vllm_internals.proposals import skip_unneeded_fetch

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

TOKENS = 48
STEP = 3  # tokens of a proposal
QUESTIONS = ("Is there a ship on the reef?", "Who lights the lamp tonight?", "How far is the harbour?")


async def reply(
    llm: VllmLlm, question: str, proposals: int | None, max_tokens: int = TOKENS, **options: Any
) -> str:
    system = Message("system", "You keep the lighthouse, and you know all ships by their lights and sails.")
    request = Request((system, Message("user", question)), max_tokens=max_tokens)
    async with aclosing(llm.generate(request, DraftUse(proposals, **options))) as deltas:
        return "".join([delta.text async for delta in deltas])


async def counted(llm: VllmLlm, question: str, proposals: int | None) -> EngineLoad:
    """Return the engine's counts for one reply."""
    before = llm.load()
    await reply(llm, question, proposals)
    after = llm.load()
    return EngineLoad(
        drafts=(after.drafts or 0) - (before.drafts or 0),
        drafted=(after.drafted or 0) - (before.drafted or 0),
        accepted=(after.accepted or 0) - (before.accepted or 0),
    )


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_greedy_reply_is_the_same_with_and_without_proposals(
    speculating_vllm: VllmLlm, question: str
) -> None:
    replies = {await reply(speculating_vllm, question, proposals) for proposals in (0, None, 3, 0)}
    assert len(replies) == 1
    assert len(replies.pop()) > 0


async def test_the_draft_is_right_now_and_then(speculating_vllm: VllmLlm) -> None:
    load = await counted(speculating_vllm, QUESTIONS[0], None)
    assert load.drafted is not None
    assert load.accepted is not None
    assert 0 < load.accepted < load.drafted


async def test_a_request_that_may_have_no_proposals_has_none(speculating_vllm: VllmLlm) -> None:
    assert (await counted(speculating_vllm, QUESTIONS[1], 0)).drafts == 0


async def test_a_request_has_no_more_than_its_proposals(speculating_vllm: VllmLlm) -> None:
    load = await counted(speculating_vllm, QUESTIONS[2], 2)
    assert (load.drafts, load.drafted) == (2, 2 * STEP)


@pytest.mark.parametrize(("first", "most"), [(12, TOKENS - 12), (TOKENS, 0)])
async def test_the_first_tokens_of_a_reply_have_none(
    speculating_vllm: VllmLlm, first: int, most: int
) -> None:
    before = speculating_vllm.load().drafts or 0
    said = await reply(speculating_vllm, QUESTIONS[0], None, begins_at=first)
    assert min(1, most) <= (speculating_vllm.load().drafts or 0) - before <= most
    assert said == await reply(speculating_vllm, QUESTIONS[0], 0)


async def test_requests_with_and_without_go_side_by_side(speculating_vllm: VllmLlm) -> None:
    alone = [await reply(speculating_vllm, question, 0) for question in QUESTIONS]
    limits = (None, 0, 2)
    beside = [reply(speculating_vllm, *pair) for pair in zip(QUESTIONS, limits, strict=True)]
    assert await asyncio.gather(*beside) == alone


@pytest.mark.parametrize("asks", [True, False])
async def test_the_worker_is_asked_only_where_something_may_be_proposed(asks: bool) -> None:
    fetched: list[bool] = []

    def post_step(core: Any, model_executed: bool) -> None:
        fetched.append(model_executed)

    skip_unneeded_fetch(post_step)(SimpleNamespace(scheduler=SimpleNamespace(wants_proposals=asks)), True)
    assert fetched == ([True] if asks else [])


async def test_a_prefix_read_without_the_draft_serves_the_next_ones(
    speculating_vllm: VllmLlm,
) -> None:
    engine = speculating_vllm.process.current.engine
    await engine.reset_prefix_cache()
    cold = await counted(speculating_vllm, QUESTIONS[0], None)
    await engine.reset_prefix_cache()
    await reply(speculating_vllm, QUESTIONS[0], 0, max_tokens=1)
    assert await counted(speculating_vllm, QUESTIONS[0], None) == cold


async def test_a_prompt_that_the_draft_did_not_read_changes_no_word(speculating_vllm: VllmLlm) -> None:
    engine = speculating_vllm.process.current.engine
    question = " ".join(f"Ship {hour} passed at {hour}." for hour in range(12)) + " Where is ship six?"
    replies = []
    for draft_reads in (False, True):
        await engine.reset_prefix_cache()
        await reply(speculating_vllm, question, 0, max_tokens=1, reads=draft_reads)
        replies.append(await reply(speculating_vllm, question, None))
    assert replies[0] == replies[1]
