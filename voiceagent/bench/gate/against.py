"""`voiceagent gate --against`: compares two configurations on one labelled set, such as base and
quantized.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rich.console import Console
from rich.table import Table

from voiceagent.bench.gate.baseline import lost
from voiceagent.bench.gate.command import Plan, measure
from voiceagent.bench.gate.figures import Figures
from voiceagent.config.tables import Config
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

NAMES = "the configuration", "against"


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
