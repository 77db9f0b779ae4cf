"""`voiceagent gate`: checks that the LLM still answers correctly and in time.

`--against` compares two configurations on one labelled set, such as base and quantized.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llmcore.engine import LlmError
from voiceagent.agents.load import beginning_of
from voiceagent.bench.gate.figures import (
    Baseline,
    Figures,
    figures_of,
    lost,
    read_baseline,
    slower,
    write_baseline,
)
from voiceagent.bench.gate.load import Run, alone
from voiceagent.bench.gate.reference import Reference
from voiceagent.bench.json_lines import read_lines
from voiceagent.bench.material import LabelledQuestion
from voiceagent.bench.scoring import Answered, check_judge, verdicts
from voiceagent.config.tables import Config
from voiceagent.server.engine_building import build_engines
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

_BUSY = "the machine is busy with other work, and what takes 1 s of a processor takes {:.1f} s"
NAMES = "the configuration", "against"


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    labelled: the set. reference: folder of the reference's model. calls: concurrent ones. questions: number
    to ask, None for all. judge: configuration whose `[llm]` judges criteria.
    """

    labelled: Path
    reference: Path
    calls: int = 4
    questions: int | None = None
    judge: Config | None = None


def gate(config: Config, plan: Plan, baseline: Path, *, record: bool) -> None:
    """Compare a run of the configured LLM with a baseline; record: write the baseline instead.

    Times that are too long are measured again and fail if they are too long again. Raises CommandFailed with
    the regressions, or if the machine is too busy to record; ConfigError.
    """
    configure_log(config.log.format, "error")
    limits = Baseline() if record else read_baseline(baseline)
    figures = measure(config, plan)
    _print(figures, limits)
    if record:
        if figures.too_busy is not None:
            raise CommandFailed(f"no baseline was written: {_BUSY.format(figures.too_busy)}")
        write_baseline(baseline, figures)
        return
    failures = lost(figures.shares, limits.shares, limits.max_loss)
    late = _late(figures, limits)
    if late and not failures:
        again = measure(config, plan)
        _print(again, limits)
        late = {name: text for name, text in _late(again, limits).items() if name in late}
    if failures or late:
        raise CommandFailed("; ".join([*failures, *late.values()]))


def _late(figures: Figures, limits: Baseline) -> dict[str, str]:
    """Return the times that are too long. Raises CommandFailed."""
    if figures.too_busy is not None:
        Console(stderr=True).print(f"Only the processor time is held: {_BUSY.format(figures.too_busy)}")
        held = {name: before for name, before in limits.times.items() if name in figures.held}
        limits = limits.model_copy(update={"times": held})
    return slower(figures.held, limits)


def measure(config: Config, plan: Plan) -> Figures:
    """Return the figures of one run. Raises CommandFailed, ConfigError."""
    questions = _spread(read_lines(plan.labelled, LabelledQuestion), plan.questions)
    check_judge(questions, plan.judge is not None)
    try:
        run = asyncio.run(_ask(config, plan, questions))
        figures = figures_of(run.blocks, asyncio.run(_judge(run.answers, plan.judge)))
    except LlmError as error:
        raise CommandFailed(f"the LLM failed: {error}") from error
    figures.memory_mib = run.memory_bytes / (1 << 20)
    return figures


def _spread(questions: Sequence[LabelledQuestion], count: int | None) -> Sequence[LabelledQuestion]:
    """Return `count` questions, evenly spaced over the set, as neighbours are similar."""
    count = len(questions) if count is None else min(count, len(questions))
    return [questions[index * len(questions) // count] for index in range(count)]


async def _ask(config: Config, plan: Plan, questions: Sequence[LabelledQuestion]) -> Run:
    llm = build_engines(alone(config)).llm
    reference = Reference(plan.reference)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("questions", total=len(questions))
        prompt, _ = beginning_of(config.agent, config.instructions(), config.source)
        run = Run(llm, reference, prompt, plan.calls, lambda: progress.advance(bar))
        try:
            await reference.start()
            await run.ask_all(questions)
        finally:
            await llm.close()
            await reference.close()
    return run


async def _judge(answers: Sequence[Answered], judge: Config | None) -> dict[str, list[bool]]:
    if judge is None:
        return await verdicts(answers, None)
    llm = build_engines(judge).llm
    try:
        await llm.start()
        return await verdicts(answers, llm)
    finally:
        await llm.close()


def _print(figures: Figures, limits: Baseline) -> None:
    table = Table("", "measured", "ms", "baseline", "limit")
    for name, value in figures.shares.items():
        before = limits.shares.get(name)
        limit = "" if before is None else f"at least {before - limits.max_loss:.1f}"
        table.add_row(name, f"{value:.1f}", "", "" if before is None else f"{before:.1f}", limit)
    for name, value in figures.times.items():
        before = limits.times.get(name)
        limit = "" if before is None else f"at most {limits.limit(name):.2f}"
        shown = "" if before is None else f"{before:.2f}"
        table.add_row(name, f"{value:.2f}x", f"{figures.milliseconds[name]:.1f}", shown, limit)
    Console().print(table)


def gate_against(config: Config, other: Config, plan: Plan, max_loss: float) -> None:
    """Measure the LLM of two configurations in turn, and print both.

    max_loss: percentage points by which a share of `other` may be lower. Raises CommandFailed if one is lower
    still; ConfigError.
    """
    before, after = (_measured(each, plan) for each in (config, other))
    Console().print(_table(before, after))
    if failures := lost(after.shares, before.shares, max_loss):
        raise CommandFailed("; ".join(failures))


def _measured(config: Config, plan: Plan) -> Figures:
    """Measure in a process of its own, so that memory is counted separately."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_measure, config, plan).result()


def _measure(config: Config, plan: Plan) -> Figures:
    configure_log(config.log.format, "error")
    return measure(config, plan)


def _table(before: Figures, after: Figures) -> Table:
    table = Table("", *NAMES, "difference, ratio")
    for name, share in before.shares.items():
        table.add_row(name, f"{share:.1f}", f"{after.shares[name]:.1f}", f"{after.shares[name] - share:+.1f}")
    for name, times in before.times.items():
        if name in after.times:
            measured = (f"{each.milliseconds[name]:.1f}" for each in (before, after))
            table.add_row(f"{name}, ms", *measured, f"{after.times[name] / times:.2f}x")
    memory = f"{before.memory_mib:.0f}", f"{after.memory_mib:.0f}"
    table.add_row("memory, MiB", *memory, f"{after.memory_mib / max(before.memory_mib, 1.0):.2f}x")
    if busy := [f"{each.too_busy:.1f}" for each in (before, after) if each.too_busy is not None]:
        table.caption = (
            f"times tell little: the machine was busy, 1 s of a processor took {', '.join(busy)} s"
        )
    return table
