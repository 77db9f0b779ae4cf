"""What long prompts cost those that are written and asked beside them, read in pieces, in steps, or at once.

.venv/bin/python tests/bench/chunked_prefill.py [ROUNDS] [LONG_TOKENS]

Four responses are written all the time, a turn of 100 tokens comes every 300 ms or so, and one long prompt
after the other. One engine a variant, of a model that is made here, in turn: a round of each. All behind the
server's priority classes and time-outs; only the first lays long prompts aside for turns.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry
from shaped_model import SMALL, Stream, ask, words, write_all_the_time, write_model

from llmcore.engine import Llm
from voiceagent.conversation.latency import percentile
from voiceagent.llm.config import LlmEngineConfig, LlmTables, PriorityConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics

WRITING, TURN_TOKENS, TURN_EVERY_S = 4, 100, 0.3
STEP = {"max_num_batched_tokens": 512}
VARIANTS: dict[str, dict[str, Any]] = {
    "in pieces of 128, yielding": STEP | {"yielding_tokens": 128},
    "in steps of 512": STEP | {"scheduling_policy": "fcfs"},
    "at once": {
        "scheduling_policy": "fcfs",
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": SMALL.context,
    },
}


@dataclass
class Figures:
    """Of one variant, over all its rounds."""

    writing: list[Stream] = field(default_factory=list)
    turns: list[Stream] = field(default_factory=list)
    long: list[Stream] = field(default_factory=list)


async def main(rounds: int, long_tokens: int) -> None:
    """Print a row for each variant."""
    found = {name: Figures() for name in VARIANTS}
    async with AsyncExitStack() as stack:
        model = write_model(SMALL, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        llms = {name: await stack.enter_async_context(running(model, VARIANTS[name])) for name in VARIANTS}
        for number in range(rounds + 1):
            for name, llm in llms.items():
                kept = found[name] if number else Figures()  # the first warms up
                await one_round(llm, kept, Random(f"{number} {name}"), long_tokens)
    print("                            ITL of writing    TTFT of turns     TTFT of long prompts   failed")
    for name, figures in found.items():
        print(row(name, figures))


@asynccontextmanager
async def running(model: Path, settings: dict[str, Any]) -> AsyncIterator[Llm]:
    """An engine behind what a server puts before it."""
    options = {"model": str(model), "load_format": "dummy", "dtype": "float32", "kv_cache_gib": 0.5}
    llm = LlmEngineConfig.model_validate({"engine": "vllm", "max_num_seqs": 16} | options | settings)
    tables = LlmTables(llm=llm, priority=PriorityConfig(long_tokens=1500))
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    engine = build_llm(tables, Path(), monitor, ttft_budget_s=0.1, max_prompt_characters=131_072)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


async def one_round(llm: Llm, figures: Figures, random: Random, long_tokens: int) -> None:
    """Two long prompts, one after the other, and turns until they are read."""
    over, beside = asyncio.Event(), []
    for _ in range(WRITING):
        prompt = words(50, random)
        beside.append(asyncio.create_task(write_all_the_time(llm, prompt, figures.writing, over)))
    asked: list[asyncio.Task[Stream]] = []

    async def turns() -> None:
        while not over.is_set():
            asked.append(asyncio.create_task(ask(llm, words(TURN_TOKENS, random), 10)))
            await asyncio.sleep(random.expovariate(1 / TURN_EVERY_S))

    beside.append(asyncio.create_task(turns()))
    await asyncio.sleep(0.5)
    for _ in range(2):
        figures.long.append(await ask(llm, words(long_tokens, random), 1))
    over.set()
    await asyncio.gather(*beside)
    figures.turns += await asyncio.gather(*asked)


def row(name: str, figures: Figures) -> str:
    """Milliseconds: p50, p95; of long prompts all."""
    gaps = [gap for stream in figures.writing for gap in stream.gaps_s]
    turns, long = ([one.ttft_s for one in kind if not one.error] for kind in (figures.turns, figures.long))
    failed = [
        one.error for kind in (figures.writing, figures.turns, figures.long) for one in kind if one.error
    ]
    cells = [
        f"{percentile(values, 50) * 1000:.0f}, {percentile(values, 95) * 1000:.0f}"
        for values in (gaps, turns)
    ]
    waited = ", ".join(f"{one_s:.1f} s" for one_s in sorted(long))
    return f"{name:27} {cells[0]:17} {cells[1]:17} {waited:22} {len(failed)} of {len(turns)} {failed[:1]}"


if __name__ == "__main__":
    asyncio.run(main(int((sys.argv[1:] or ["3"])[0]), int((sys.argv[2:] or ["4000"])[0])))
