"""The operating curves of `bench people` as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from voiceagent.bench.people.outcome import Point
from voiceagent.validation.errors import CommandFailed

WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 7.0, 4.5, 120


def plot_curves(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Write a PNG: turns cut off over the wait, a line for each system. Raises CommandFailed."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except ImportError as error:
        raise CommandFailed("a plot needs matplotlib: pip install 'voiceagent[bench]'") from error
    figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot(
            [point.wait_ms for point in points], [100 * point.cut_off for point in points], "o-", label=name
        )
        for point in points:
            axes.annotate(point.name, (point.wait_ms, 100 * point.cut_off), fontsize=7)
    axes.set(
        xlabel="end of voice to decision, mean, ms", ylabel="turns cut off, %", xlim=(0, None), ylim=(0, None)
    )
    axes.legend()
    try:
        figure.savefig(path, dpi=DOTS_PER_INCH, format="png")
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {error}") from error
