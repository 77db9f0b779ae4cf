"""Loads on a server's LLM: calls, streams, prompts behind a cached prefix, long prompts and bursts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from llm_load.measure import Load, measure
from llm_load.replay import Replay
from prompt_steps import Figures, one_round, row
from shaped_model import Stream, ask, write_all_the_time

from gpu_parts.engines import Started
from gpu_parts.results import Rows
from llmcore.engine import Delta, Llm, Request, Usage
from voiceagent.conversation.latency import percentile

PROMPT_TOKENS, RESPONSE_TOKENS = 500, 128
FIGURES = ("TTFT", "first fragment", "ITL", "TPOT", "response")
COUNTS = ("cached % of prompts", "tokens/s", "turns", "failed")


class PartFailed(Exception):
    """Some requests of a part failed, so the figures are not those of its load. rows: the figures."""

    def __init__(self, reason: str, rows: Rows) -> None:
        super().__init__(reason)
        self.rows = rows


@dataclass
class Uncached:
    """An LLM whose prompts share no prefix with any other: each begins with a number of its own."""

    llm: Llm
    count: int = 0

    async def start(self) -> None:
        """Leave the engine as it runs."""

    async def close(self) -> None:
        """Leave the engine running."""

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate without the cache."""
        return self.llm.generate(self._unique(request))

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill what no request will use."""
        return await self.llm.prefill(self._unique(request))

    def _unique(self, request: Request) -> Request:
        self.count += 1
        first, *others = request.messages
        unique = replace(first, content=f"{self.count} {first.content}")
        return replace(request, messages=(unique, *others))


async def calls(
    started: Started,
    *,
    calls: int,
    turns: int,
    history_tokens: int,
    prefills: bool = True,
    uncached: bool = False,
) -> Rows:
    """Measure the load of `bench_llm.py`. Raises PartFailed."""
    llm, variant = started.served
    if not prefills:
        variant = replace(variant, prefill_while_speaking=False)
    load = Load(calls=calls, turns=turns, history_tokens=history_tokens)
    figures = await measure(Uncached(llm) if uncached else llm, variant, load, started.replay)
    found = figures.summary()
    rows = [
        (name, ", ".join(f"{found[f'{name} p{rank} ms']:.1f}" for rank in (50, 95, 99)))
        for name in FIGURES
        if f"{name} p50 ms" in found
    ]
    rows += [(name, f"{found[name]:.0f}") for name in COUNTS if name in found]
    if figures.failed:
        raise PartFailed(figures.failed[0], rows)
    return rows


async def streams(started: Started, *, numbers: tuple[int, ...]) -> Rows:
    """Measure responses at once, each with an uncached prompt of 500 tokens; two warm up."""
    (llm, _), random, rows = started.served, Random(1), Rows()
    for number in (2, *numbers):
        began_s = time.monotonic()
        prompts = [started.replay.text(PROMPT_TOKENS, random) for _ in range(number)]
        found = await asyncio.gather(*(ask(llm, prompt, RESPONSE_TOKENS) for prompt in prompts))
        rows.append((f"{number} streams", _stream_figures(found, time.monotonic() - began_s)))
    return _checked(rows[1:])


async def floor(
    started: Started,
    *,
    beside: tuple[int, ...],
    new_tokens: tuple[int, ...],
    rounds: int,
    prefix_tokens: int,
) -> Rows:
    """Measure the TTFT of so many new tokens behind a cached prefix, alone and beside other responses."""
    (llm, _), random, rows = started.served, Random(2), Rows()
    prefix = started.replay.text(prefix_tokens, random)
    await ask(llm, prefix, 1)
    for number in beside:
        async with _writing(llm, started.replay, number, random) as written:
            for tokens in new_tokens:
                asked = [
                    await ask(llm, f"{prefix} {started.replay.text(tokens, random)}", 1)
                    for _ in range(rounds)
                ]
                waited = [one.ttft_s * 1000 for one in asked if not one.error]
                failed = f", {rounds - len(waited)} failed" if len(waited) < rounds else ""
                figures = f"TTFT p50 {percentile(waited, 50):.1f}, p95 {percentile(waited, 95):.1f}{failed}"
                rows.append((f"beside {number}, {tokens} new tokens", figures))
        gaps = [gap * 1000 for stream in written for gap in stream.gaps_s]
        if gaps:
            rows.append((f"{number} streams beside", f"ITL p50 {percentile(gaps, 50):.1f}"))
    return _checked(rows)


async def long_prompts(started: Started, *, rounds: int, long_tokens: int = 4000) -> Rows:
    """Measure two long prompts while turns come and responses are written."""
    return await _steps(started, "long", rounds, long_tokens)


async def burst(started: Started, *, rounds: int) -> Rows:
    """Measure twelve turns at once, while responses are written."""
    return await _steps(started, "burst", rounds, 0)


async def _steps(started: Started, load: str, rounds: int, long_tokens: int) -> Rows:
    (llm, _), figures = started.served, Figures()
    for number in range(rounds + 1):
        kept = figures if number else Figures()  # the first warms up
        await one_round(llm, load, kept, Random(number), started.replay.text, long_tokens)
    _, _, found = row("", figures).partition("ITL")
    return _checked([(load, f"ITL{found}")])


@asynccontextmanager
async def _writing(llm: Llm, replay: Replay, number: int, random: Random) -> AsyncIterator[list[Stream]]:
    """Have so many responses written, one after another, and yield them."""
    over, written = asyncio.Event(), list[Stream]()
    prompt = partial(replay.text, 50, random)
    writers = [asyncio.create_task(write_all_the_time(llm, prompt(), written, over)) for _ in range(number)]
    if number:
        await asyncio.sleep(1.0)  # until all write
    try:
        yield written
    finally:
        over.set()
        await asyncio.gather(*writers)


def _stream_figures(streams: list[Stream], took_s: float) -> str:
    """Return the figures in milliseconds."""
    well = [stream for stream in streams if not stream.error]
    ttft, gaps = [one.ttft_s for one in well], [gap for one in well for gap in one.gaps_s]
    cells = [
        f"{name} p50 {percentile(values, 50) * 1000:.1f}, p95 {percentile(values, 95) * 1000:.1f}"
        for name, values in (("TTFT", ttft), ("ITL", gaps))
    ]
    cells.append(f"pieces/s {sum(len(one.came_s) for one in well) / took_s:.0f}")
    return "; ".join([*cells, f"{len(streams) - len(well)} failed"])


def _checked(rows: Rows) -> Rows:
    """Return the rows. Raises PartFailed if one of them counts failures."""
    failed = [figures for _, figures in rows if "failed" in figures and " 0 failed" not in f" {figures}"]
    if failed:
        raise PartFailed(failed[0], rows)
    return rows
