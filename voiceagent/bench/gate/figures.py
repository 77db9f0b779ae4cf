"""Figures of a gate: times and correctness of its answers, and the file with those of an earlier run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from voiceagent.conversation.latency import percentile
from voiceagent.validation.errors import CommandFailed, reason_of
from voiceagent.validation.section import check

MAX_STRETCH = 1.15
"""Maximum ratio of wall time to CPU time of the reference for a block to count. On an overloaded machine,
work that needs more processors, or needs them more often, loses more time.
"""
MIN_QUIET = 5
"""Minimum number of such blocks; with fewer, all blocks count."""
CPU = "processor time alone"
Figure = Annotated[float, Field(gt=0)]


@dataclass(slots=True)
class Times:
    """Response times in milliseconds.

    ttft: from the request to the first piece. itl: between pieces. response: from the request to the last
    piece, of responses that were not interrupted.
    """

    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)

    def add(self, stamps: Sequence[float], *, whole: bool = True) -> None:
        """Add a response: times in seconds of its request and of each piece. Without pieces it is ignored.

        whole: it was not interrupted, so that its length counts too.
        """
        waits = [(after - before) * 1000 for before, after in pairwise(stamps)]
        self.ttft += waits[:1]
        self.itl += waits[1:]
        if whole and waits:
            self.response.append(sum(waits))


@dataclass(slots=True)
class Block:
    """A few seconds of a run: requests alone and under load, each interleaved with the reference.

    alone_cpu_s, reference_cpu_s: CPU time of each response, and of each piece of the reference. stretch: wall
    time of each piece divided by its CPU time.
    """

    alone: Times = field(default_factory=Times)
    alone_reference: Times = field(default_factory=Times)
    loaded: Times = field(default_factory=Times)
    loaded_reference: Times = field(default_factory=Times)
    alone_cpu_s: list[float] = field(default_factory=list)
    reference_cpu_s: list[float] = field(default_factory=list)
    stretch: list[float] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """True if the machine had little other work."""
        return not self.stretch or median(self.stretch) <= MAX_STRETCH


@dataclass(slots=True)
class Figures:
    """Figures of a run.

    shares: in percent, such as "right answers %". times: relative to the reference. milliseconds: the same
    times. too_busy: wall time of the reference divided by its CPU time, if the machine was so busy that only
    CPU time is meaningful. memory_mib: increase of the processes' memory by the engine.
    """

    shares: dict[str, float] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    too_busy: float | None = None
    memory_mib: float = 0.0

    @property
    def held(self) -> dict[str, float]:
        """Times to compare with a baseline."""
        return self.times if self.too_busy is None else {CPU: self.times[CPU]}


_ROWS: tuple[tuple[str, Callable[[Block], tuple[list[float], list[float]]], float], ...] = (
    ("TTFT alone", lambda block: (block.alone.ttft, block.alone_reference.ttft), 50),
    ("ITL alone", lambda block: (block.alone.itl, block.alone_reference.itl), 50),
    ("TTFT under load, p50", lambda block: (block.loaded.ttft, block.loaded_reference.ttft), 50),
    ("TTFT under load, p95", lambda block: (block.loaded.ttft, block.loaded_reference.ttft), 95),
    ("ITL under load", lambda block: (block.loaded.itl, block.loaded_reference.itl), 50),
    ("response under load", lambda block: (block.loaded.response, block.loaded_reference.response), 50),
)


def figures_of(blocks: Sequence[Block], verdicts: Mapping[str, Sequence[bool]]) -> Figures:
    """Compute the figures of a run, without those that were not measured. verdicts: by the name of their
    share.

    Each time is divided by the median of the reference in its block, as a temporary slowdown affects both. A
    percentile is that of the engine over that of the reference.
    """
    figures = Figures()
    for name, right in verdicts.items():
        if right:
            figures.shares[name] = 100 * sum(right) / len(right)
    quiet = [block for block in blocks if block.quiet]
    if len(quiet) < min(MIN_QUIET, len(blocks)):
        figures.too_busy = median(stretch for block in blocks for stretch in block.stretch)
        quiet = list(blocks)
    for name, of, rank in _ROWS:
        sides = [of(block) for block in quiet if all(of(block))]
        if sides:
            units = [median(reference) for _, reference in sides]
            ranked = [
                percentile(
                    [time / unit for times, unit in zip(side, units, strict=True) for time in times], rank
                )
                for side in zip(*sides, strict=True)
            ]
            figures.times[name] = ranked[0] / ranked[1]
            figures.milliseconds[name] = percentile([time for times, _ in sides for time in times], rank)
    cpu = [block for block in blocks if block.alone_cpu_s and block.reference_cpu_s]
    if cpu:
        figures.times[CPU] = median(sum(b.alone_cpu_s) / sum(b.reference_cpu_s) for b in cpu)
        figures.milliseconds[CPU] = 1000 * median(time for block in cpu for time in block.alone_cpu_s)
    return figures


class Baseline(BaseModel):
    """The file.

    max_loss: percentage points by which a share may be lower. max_ratio: maximum of a time, as a multiple of
    its baseline. max_cpu_ratio: the same for CPU time, which other work hardly changes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_loss: Annotated[float, Field(ge=0)] = 1.0
    max_ratio: Annotated[float, Field(gt=1)] = 1.3
    max_cpu_ratio: Annotated[float, Field(gt=1)] = 1.2
    shares: dict[str, Figure] = {}
    times: dict[str, Figure] = {}

    def limit(self, name: str) -> float:
        """Return the maximum of a time."""
        return self.times[name] * (self.max_cpu_ratio if name == CPU else self.max_ratio)


def read_baseline(path: Path) -> Baseline:
    """Read the file. Raises CommandFailed, ConfigError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path}: cannot be read as JSON: {reason_of(error)}") from error
    return check(Baseline, document, path)


def write_baseline(path: Path, figures: Figures) -> None:
    """Write a run's figures as the baseline. Raises CommandFailed."""
    shares = {name: round(value, 1) for name, value in figures.shares.items()}
    times = {name: round(value, 2) for name, value in figures.times.items()}
    baseline = Baseline(shares=shares, times=times)
    try:
        path.write_text(json.dumps(baseline.model_dump(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written: {reason_of(error)}") from error


def lost(shares: Mapping[str, float], base: Mapping[str, float], max_loss: float) -> list[str]:
    """Describe the shares that are too low. Raises CommandFailed for one that was not measured."""
    _check(base, shares)
    return [
        f"{name} is {shares[name]:.1f}, at least {before - max_loss:.1f} is wanted"
        for name, before in base.items()
        if shares[name] < before - max_loss
    ]


def slower(times: Mapping[str, float], baseline: Baseline) -> dict[str, str]:
    """Describe the times that are too long, by name. Raises CommandFailed for one that was not measured."""
    _check(baseline.times, times)
    too_slow = {}
    for name, before in baseline.times.items():
        most = baseline.limit(name) / before
        if times[name] / before > most:
            ratio = f"{times[name] / before:.2f} times the baseline's"
            too_slow[name] = f"{name} is {ratio}, at most {most:.2f} is wanted"
    return too_slow


def _check(names: Mapping[str, float], measured: Mapping[str, float]) -> None:
    for name in names:
        if name not in measured:
            raise CommandFailed(f"the baseline has {name!r}; allowed: {', '.join(measured)}")
