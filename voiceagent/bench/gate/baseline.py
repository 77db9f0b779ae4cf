"""Baseline of a gate: the figures of an earlier run, in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from voiceagent.bench.gate.figures import CPU, Figures
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.section import check

Figure = Annotated[float, Field(gt=0)]


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
        raise CommandFailed(f"{path}: cannot be read as JSON: {error}") from error
    return check(Baseline, document, path)


def write_baseline(path: Path, figures: Figures) -> None:
    """Write a run's figures as the baseline. Raises CommandFailed."""
    shares = {name: round(value, 1) for name, value in figures.shares.items()}
    times = {name: round(value, 2) for name, value in figures.times.items()}
    baseline = Baseline(shares=shares, times=times)
    try:
        path.write_text(json.dumps(baseline.model_dump(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written: {error}") from error


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
