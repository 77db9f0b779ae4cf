"""Measure what prompts cost concurrent responses: chunked or whole, in steps of fixed size or not.

.venv/bin/python tests/bench/prompt_steps.py long [ROUNDS]
.venv/bin/python tests/bench/prompt_steps.py burst [ROUNDS [tiny]]

Four responses are written all the time. "long": meanwhile two prompts of 4,000 tokens, one after the
other, and a turn of 100 tokens every 300 ms or so. "burst": twelve turns of 300 tokens at once. One engine a
variant, of a model that is made here, in turn: a round of each. All are behind the server's priority classes
and time-outs; only those with our scheduler lay long prompts aside for turns inside vLLM. "tiny": a model
so small that only the way is seen, and no figure.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry
from shaped_model import (
    SMALL,
    TINY,
    Shape,
    Stream,
    ask,
    device_settings,
    words,
    write_all_the_time,
    write_model,
)

from llmcore.engine import Llm
from voiceagent.conversation.latency import percentile
from voiceagent.llm.config import LlmEngineConfig, LlmTables, PriorityConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics

WRITING, TURN_TOKENS, TURN_EVERY_S, LONG_TOKENS = 4, 100, 0.3, 4000
BURST_TURNS, BURST_TOKENS = 12, 300
FCFS: dict[str, Any] = {"scheduling_policy": "fcfs"}
STEP: dict[str, Any] = {"max_num_batched_tokens": 512, "yielding_tokens": 128}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "long": {
        "pieces of 128, yielding": STEP,
        "steps of 512": STEP | FCFS,
        "at once": FCFS | {"enable_chunked_prefill": False, "max_num_batched_tokens": 8192},
    },
    "burst": {"steps of 512": STEP, "steps of at most 80 ms": STEP | {"max_step_ms": 80.0}},
}


@dataclass
class Figures:
    """The figures of one variant, over all its rounds."""

    writing: list[Stream] = field(default_factory=list)
    turns: list[Stream] = field(default_factory=list)
    long: list[Stream] = field(default_factory=list)


async def main(load: str, rounds: int, shape: Shape) -> None:
    """Print a row for each variant."""
    variants = VARIANTS[load]
    found = {name: Figures() for name in variants}
    async with AsyncExitStack() as stack:
        model = write_model(shape, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        llms = {name: await stack.enter_async_context(running(model, variants[name])) for name in variants}
        for number in range(rounds + 1):
            for name, llm in llms.items():
                kept = found[name] if number else Figures()  # the first warms up
                await one_round(llm, load, kept, Random(f"{number} {name}"))
    for name, figures in found.items():
        print(row(name, figures))


@asynccontextmanager
async def running(model: Path, settings: dict[str, Any]) -> AsyncIterator[Llm]:
    """An engine behind what a server puts before it."""
    options = {"model": str(model), "load_format": "dummy", "kv_cache_gib": 0.5, "max_num_seqs": 16}
    llm = LlmEngineConfig.model_validate({"engine": "vllm"} | device_settings() | options | settings)
    tables = LlmTables(llm=llm, priority=PriorityConfig())
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    engine = build_llm(tables, Path(), monitor, ttft_budget_s=0.1, max_prompt_characters=131_072)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


async def one_round(
    llm: Llm,
    load: str,
    figures: Figures,
    random: Random,
    text: Callable[[int, Random], str] = words,
    long_tokens: int = LONG_TOKENS,
) -> None:
    """Apply the load once, while other responses are written from before it to after it. text: makes a prompt
    of so many tokens.
    """
    over, beside = asyncio.Event(), []
    for _ in range(WRITING):
        prompt = text(50, random)
        beside.append(asyncio.create_task(write_all_the_time(llm, prompt, figures.writing, over)))
    await asyncio.sleep(1.0)
    if load == "long":
        await long_prompts(llm, figures, random, text, long_tokens)
    else:
        await burst(llm, figures, random, text)
    over.set()
    await asyncio.gather(*beside)


async def long_prompts(
    llm: Llm, figures: Figures, random: Random, text: Callable[[int, Random], str], long_tokens: int
) -> None:
    """Two, one after the other, and turns until they are read."""
    asked: list[asyncio.Task[Stream]] = []

    async def turns() -> None:
        while True:
            asked.append(asyncio.create_task(ask(llm, text(TURN_TOKENS, random), 10)))
            await asyncio.sleep(random.expovariate(1 / TURN_EVERY_S))

    asking = asyncio.create_task(turns())
    for _ in range(2):
        figures.long.append(await ask(llm, text(long_tokens, random), 1))
    asking.cancel()
    figures.turns += await asyncio.gather(*asked)


async def burst(llm: Llm, figures: Figures, random: Random, text: Callable[[int, Random], str]) -> None:
    """Turns that all come at once."""
    turns = (ask(llm, text(BURST_TOKENS, random), 10) for _ in range(BURST_TURNS))
    figures.turns += await asyncio.gather(*turns)


def row(name: str, figures: Figures) -> str:
    """Milliseconds: p50, p95, and of the gaps also p99 and the longest; of long prompts all."""
    gaps = [gap for stream in figures.writing for gap in stream.gaps_s]
    turns, long = ([one.ttft_s for one in kind if not one.error] for kind in (figures.turns, figures.long))
    failed = [
        one.error for kind in (figures.writing, figures.turns, figures.long) for one in kind if one.error
    ]
    itl = ", ".join(f"{percentile(gaps, rank) * 1000:.0f}" for rank in (50, 95, 99, 100))
    ttft = ", ".join(f"{percentile(turns, rank) * 1000:.0f}" for rank in (50, 95))
    waited = ", ".join(f"{one_s:.1f} s" for one_s in sorted(long))
    return f"{name:24}  ITL {itl}; TTFT of {len(turns)} turns {ttft}; long {waited}; {len(failed)} failed"


if __name__ == "__main__":
    shape = TINY if sys.argv[3:] == ["tiny"] else SMALL
    asyncio.run(main(sys.argv[1], int((sys.argv[2:] or ["3"])[0]), shape))
