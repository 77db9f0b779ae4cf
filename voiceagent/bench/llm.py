"""`voiceagent bench llm`: the LLM alone under replayed conversations, each technique on and off."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random

import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llmcore.demo.conversations import conversations
from llmcore.engine import LlmError, Message
from voiceagent.bench.llm_calls import LlmCaller, LlmFigures
from voiceagent.bench.llm_parts import LlmVariant, Technique, llm_variants
from voiceagent.bench.llm_plot import plot_llm
from voiceagent.config.tables import Config
from voiceagent.engines import build
from voiceagent.failures import CommandFailed
from voiceagent.telemetry import configure_log

RAMP_S = 2.0
"""Calls begin as a Poisson process within about such a time."""
WARM_UP_TURNS = 2
"""A variant, which are not counted: they load what loads late, and read the system prompt."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured.

    calls: numbers of calls at once, one measurement each. turns: how many each. long: callers beside them
    that send long prompts all the time. compare: techniques that are turned off, one after the other. seed:
    of all that is random. plot: where a picture goes, if anywhere.
    """

    calls: tuple[int, ...] = (4,)
    turns: int = 60
    long: int = 0
    compare: tuple[Technique, ...] = ()
    seed: int = 1
    plot: Path | None = None


@dataclass(frozen=True, slots=True)
class LlmResult:
    """One measurement."""

    variant: str
    calls: int
    figures: LlmFigures


def bench_llm(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure a plan and print what it came to. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "error")
    results = uvloop.run(_measure_all(config, plan))
    if as_json:
        print(json.dumps({"measurements": [_as_json(result) for result in results]}, indent=2))
    else:
        for calls in plan.calls:
            _print(calls, [result for result in results if result.calls == calls])
    if plan.plot is not None:
        plot_llm([(r.variant, r.calls, r.figures.summary()) for r in results], plan.plot)
    if failed := next((result.figures.failed for result in results if result.figures.failed), None):
        raise CommandFailed(f"turns without an answer; the first: {failed[0]}")


async def _measure_all(config: Config, plan: Plan) -> list[LlmResult]:
    variants = llm_variants(config, plan.compare)
    results = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for variant in variants:
            llm = build(variant.config).llm
            try:
                await llm.start()
                await _measure(variant, partial(LlmCaller, llm), 1, WARM_UP_TURNS, 0, plan.seed, lambda: None)
                for calls in plan.calls:
                    bar = progress.add_task(f"{variant.name}, {calls} calls", total=plan.turns)
                    figures = await _measure(
                        variant,
                        partial(LlmCaller, llm),
                        calls,
                        plan.turns,
                        plan.long,
                        plan.seed,
                        partial(progress.advance, bar),
                    )
                    results.append(LlmResult(variant.name, calls, figures))
            except LlmError as error:
                raise CommandFailed(f"{variant.name}: {error}") from error
            finally:
                await llm.close()
    return results


async def _measure(
    variant: LlmVariant,
    new_caller: Callable[..., LlmCaller],
    calls: int,
    turns: int,
    long: int,
    seed: int,
    advance: Callable[[], None],
) -> LlmFigures:
    figures, left, over = LlmFigures(), turns, asyncio.Event()

    def next_turn() -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            return False
        advance()
        return True

    def caller(number: int) -> LlmCaller:
        system = Message("system", variant.config.instructions())
        budget_s = variant.config.budget.llm_ttft_ms / 1000
        return new_caller(system, figures, Random(seed * 1000 + number), variant.reading_ahead, budget_s)

    async def keep_calling(number: int, begins_s: float) -> None:
        await asyncio.sleep(begins_s)
        for questions in _conversations(seed * 1000 + number):
            await caller(number).call(questions, next_turn)
            if left < 0:
                return

    random, began_s = Random(seed), time.monotonic()
    begins_s = accumulate(random.expovariate(calls / RAMP_S) for _ in range(calls))
    documents = [
        asyncio.create_task(caller(-n).read_documents(lambda: not over.is_set())) for n in range(long)
    ]
    try:
        await asyncio.gather(*(keep_calling(number, at_s) for number, at_s in enumerate(begins_s)))
    finally:
        over.set()
        for reading in documents:
            reading.cancel()
        await asyncio.gather(*documents, return_exceptions=True)
    figures.seconds = time.monotonic() - began_s
    return figures


def _conversations(seed: int) -> Iterator[Iterator[str]]:
    """The callers' sides of the demo's conversations for evaluation, without end."""
    for conversation in conversations("heldout", seed):
        yield iter([message["content"] for message in conversation if message["role"] == "user"])


def _as_json(result: LlmResult) -> dict[str, object]:
    return {"variant": result.variant, "calls": result.calls} | result.figures.summary()


def _print(calls: int, results: Sequence[LlmResult]) -> None:
    """A column for each variant, and how many times the first one's figure it is."""
    table = Table("", *(result.variant for result in results), title=f"{calls} calls")
    first = results[0].figures.summary()
    for name in first:
        cells = [f"{first[name]:.1f}"]
        for result in results[1:]:
            value = result.figures.summary().get(name)
            times = f" ({value / first[name]:.2f}x)" if value is not None and first[name] else ""
            cells.append("" if value is None else f"{value:.1f}{times}")
        table.add_row(name, *cells)
    Console().print(table)
