"""One measurement of `bench_llm.py`: a number of concurrent calls on a running engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count
from random import Random

from llm_load.calls import LlmCaller, LlmFigures
from llm_load.distribution import Trace, TracedCall
from llm_load.replay import Replay
from llm_load.variants import LlmVariant
from llmcore.engine import Delta, Llm, LlmError, Message, Request
from llmcore.engine_load import EngineLoad
from voiceagent.agents.load import beginning_of

RAMP_S = 2.0
"""Calls begin as a Poisson process within about this time."""
FREED_TIMES = 20
"""Number of responses to cancel, to measure how fast their cache is freed."""
FREED_TOKENS = 600
"""Length of their prompts in tokens."""
FREED_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """Load of a measurement.

    calls: concurrent ones. turns: in total. long_calls: additional callers that constantly send prompts of
    `long_tokens`. history_tokens: history of a call when it begins. seed: of all random choices.
    """

    calls: int
    turns: int
    long_calls: int = 0
    long_tokens: int = 4000
    history_tokens: int = 0
    seed: int = 1


async def measure(
    llm: Llm,
    variant: LlmVariant,
    load: Load,
    replay: Replay,
    advance: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> LlmFigures:
    """Call until the load's turns were asked; `advance` is called for each. clock: time of the event loop."""
    figures, left = LlmFigures(), load.turns
    new = partial(new_caller, llm, variant, figures, clock=clock)

    def next_turn() -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            return False
        advance()
        return True

    async def keep_calling(number: int, begins_s: float) -> None:
        await asyncio.sleep(begins_s)
        first = load.seed * 1000 + number
        for seed, questions in zip(count(first, 1_000_000), replay.callers(first), strict=False):
            random = Random(seed)
            said_before = _said_before(replay, load.history_tokens, random)
            await new(random, said_before).call(questions, next_turn)
            if left < 0:
                return

    random, began_s = Random(load.seed), clock()
    begins_s = accumulate(random.expovariate(load.calls / RAMP_S) for _ in range(load.calls))
    async with _long_prompts(new, replay, load):
        await asyncio.gather(*(keep_calling(number, at_s) for number, at_s in enumerate(begins_s)))
    figures.seconds = clock() - began_s
    return figures


@asynccontextmanager
async def _long_prompts(
    new: Callable[[Random], LlmCaller], replay: Replay, load: Load
) -> AsyncIterator[None]:
    """Send the prompts of the load's long callers until the context is left."""
    over = asyncio.Event()

    async def read(random: Random) -> None:
        document = partial(replay.text, load.long_tokens, random)
        await new(random).read_documents(document, lambda: not over.is_set())

    reading = [asyncio.create_task(read(Random(-number - 1))) for number in range(load.long_calls)]
    try:
        yield
    finally:
        over.set()
        for document in reading:
            document.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def measure_trace(
    llm: Llm, variant: LlmVariant, trace: Trace, replay: Replay, seed: int, advance: Callable[[], None]
) -> LlmFigures:
    """Replay the calls of a trace; `advance` is called for each turn."""
    figures, began_s = LlmFigures(), time.monotonic()

    async def call(number: int, traced: TracedCall) -> None:
        await asyncio.sleep(traced.begins_s)
        random = Random(seed * 1000 + number)
        said_before = _said_before(replay, traced.history_tokens, random)
        caller = new_caller(llm, variant, figures, random, said_before)
        await caller.replay(traced.turns, advance)

    await asyncio.gather(*(call(number, traced) for number, traced in enumerate(trace)))
    figures.seconds = time.monotonic() - began_s
    return figures


def new_caller(
    llm: Llm,
    variant: LlmVariant,
    figures: LlmFigures,
    random: Random,
    said_before: tuple[Message, ...] = (),
    clock: Callable[[], float] = time.monotonic,
) -> LlmCaller:
    """Return a caller of a variant's agent, without tools. said_before: earlier messages of the call."""
    config = variant.config
    instructions, _ = beginning_of(config.agent, config.instructions(), config.source)
    return LlmCaller(
        llm,
        (Message("system", instructions), *said_before),
        figures,
        random,
        prefills=variant.prefill_while_speaking,
        ttft_s=variant.config.budget.llm_ttft_ms / 1000,
        at_pace=bool(said_before),
        clock=clock,
    )


def _said_before(replay: Replay, tokens: int, random: Random) -> tuple[Message, ...]:
    """Return a unique history of about `tokens` tokens, as in a transferred call."""
    if not tokens:
        return ()
    return Message("user", replay.text(tokens, random)), Message("assistant", "Yes.")


async def measure_freeing(llm: Llm, load: Callable[[], EngineLoad], replay: Replay, seed: int) -> list[float]:
    """Return the milliseconds from cancelling a response until the engine reports its KV cache as free.

    Empty if the engine does not report it. Another response is generated all the time: without it there would
    be no steps, and so no reports.
    """
    random, freed = Random(seed), list[float]()
    if load().cache_usage is None:
        return freed
    for _ in range(FREED_TIMES):
        beside = llm.generate(_essay(replay, FREED_TOKENS // 20, random))
        async with aclosing(beside):
            await anext(beside)
            writing = asyncio.create_task(_write(beside))
            try:
                taken_ms = await _freed_ms(llm, load, _essay(replay, FREED_TOKENS, random))
            finally:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
        if taken_ms is not None:
            freed.append(taken_ms)
    return freed


async def _freed_ms(llm: Llm, load: Callable[[], EngineLoad], essay: Request) -> float | None:
    before = load().cache_usage or 0.0
    async with aclosing(llm.generate(essay)) as deltas:
        await anext(deltas)
        await anext(deltas)
        within = load().cache_usage or 0.0
        cut_s = time.monotonic()
    half = before + (within - before) / 2  # the other response allocates blocks meanwhile
    while within > before and time.monotonic() < cut_s + FREED_PATIENCE_S:
        if (load().cache_usage or 0.0) < half:
            return (time.monotonic() - cut_s) * 1000
        await asyncio.sleep(0.001)
    return None


def _essay(replay: Replay, tokens: int, random: Random) -> Request:
    return Request((Message("user", replay.text(tokens, random)),), max_tokens=400, temperature=1.0)


async def _write(deltas: AsyncGenerator[Delta, None]) -> None:
    try:
        async for _ in deltas:
            pass
    except LlmError:
        return
