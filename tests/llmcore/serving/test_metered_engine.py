from __future__ import annotations

from contextlib import aclosing

import pytest
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import READING, Delta, LlmError, Message, Request, Usage
from llmcore.serving.metered_engine import MeteredLlm, RequestFigures

ASK = Request((Message("user", "hello?"),), priority_class="preemptive")


class Clock:
    """Each look at it finds the time moved on by a second."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


def metered(
    *script: object, usage: Usage | None = None, clock: Clock | None = None
) -> tuple[MeteredLlm, list[RequestFigures]]:
    seen: list[RequestFigures] = []
    return MeteredLlm(ScriptedLlm(list(script), usage=usage), seen.append, clock or Clock()), seen


async def read(llm: MeteredLlm) -> list[Delta]:
    async with aclosing(llm.generate(ASK)) as deltas:
        return [delta async for delta in deltas]


async def test_a_reply_passes_unchanged_and_its_figures_are_reported_once():
    llm, seen = metered("one", " two", " three", usage=Usage(30, 20, 3))
    assert "".join(delta.text for delta in await read(llm)) == "one two three"
    (figures,) = seen
    assert (figures.ending, figures.priority_class, figures.usage) == (
        "finished",
        "preemptive",
        Usage(30, 20, 3),
    )
    assert (figures.ttft_s, figures.itl_s, figures.tpot_s) == (1.0, [1.0, 1.0], 1.0)


async def test_the_time_that_the_reader_takes_is_not_the_engines():
    clock = Clock()
    llm, seen = metered("one", " two", clock=clock)
    async with aclosing(llm.generate(ASK)) as deltas:
        async for _ in deltas:
            clock.now_s += 100.0
    assert max(seen[0].itl_s) == 1.0


async def test_signs_of_reading_are_no_first_token():
    llm, seen = metered(READING, READING, "one", " two")
    assert (await read(llm))[:2] == [READING, READING]
    assert (seen[0].ttft_s, seen[0].itl_s) == (1.0, [1.0])


async def test_a_reply_of_one_token_has_no_time_per_further_token():
    llm, seen = metered("one", usage=Usage(3, 0, 1))
    await read(llm)
    assert seen[0].tpot_s is None


async def test_a_request_that_is_given_up_is_reported_as_cancelled():
    llm, seen = metered("one", HANG)
    deltas = llm.generate(ASK)
    await anext(deltas)
    assert llm.load().running == 1
    await deltas.aclose()
    assert (seen[0].ending, seen[0].usage) == ("cancelled", None)
    assert llm.load().running == 0


async def test_a_request_that_fails_is_reported_as_failed():
    llm, seen = metered(LlmError("broken"))
    with pytest.raises(LlmError):
        await read(llm)
    assert (seen[0].ending, seen[0].ttft_s) == ("failed", None)


async def test_of_a_prefill_what_it_wrote_to_a_cache_at_a_price_is_reported():
    llm, seen = metered("one", usage=Usage(30, 0, 0, written_tokens=25))
    await llm.prefill(ASK)
    assert [(figures.priority_class, figures.usage) for figures in seen] == [
        ("prefill", Usage(30, 0, 0, written_tokens=25))
    ]


async def test_a_prefill_that_costs_nothing_is_not_reported():
    llm, seen = metered("one", usage=Usage(30, 20, 0))
    await llm.prefill(ASK)
    assert seen == []
