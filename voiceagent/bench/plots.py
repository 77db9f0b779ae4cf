"""Plots of `bench llm`, `bench calls` and `bench people`. They need the extra `bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from voiceagent.bench.people.outcome import Point
from voiceagent.validation.errors import CommandFailed, reason_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 9.0, 3.6, 120


def plot_llm(results: Sequence[tuple[str, int, Mapping[str, float]]], path: Path) -> None:
    """Write a PNG: TTFT and ITL over the number of calls, a line for each variant. Raises CommandFailed.

    results: variant, concurrent calls, and the figures by name.
    """
    figure = _figure()
    for axes, name in zip(figure.subplots(1, 2), ("TTFT p95 ms", "ITL p95 ms"), strict=True):
        for variant in dict.fromkeys(variant for variant, _, _ in results):
            points = sorted((calls, row[name]) for v, calls, row in results if v == variant and name in row)
            axes.plot([calls for calls, _ in points], [ms for _, ms in points], marker="o", label=variant)
        axes.set(xlabel="calls at once", ylabel=name.removesuffix(" ms") + ", ms", ylim=(0, None))
    figure.axes[0].legend()
    _write(figure, path)


def plot_calls(results: Sequence[dict[str, float]], path: Path) -> None:
    """Write a PNG: latency, and CPU, over the number of calls. Raises CommandFailed."""
    figure = _figure()
    results = sorted(results, key=lambda measured: measured["calls"])
    calls = [measured["calls"] for measured in results]
    latency, cost = figure.subplots(1, 2)
    for rank in (50, 95, 99):
        values = [measured[f"voice end to audible p{rank} ms"] for measured in results]
        latency.plot(calls, values, marker="o", label=f"p{rank}")
    latency.set(xlabel="calls at once", ylabel="end of voice to sound, ms", ylim=(0, None))
    latency.legend()
    cost.plot(calls, [measured["CPU s a call-minute"] for measured in results], marker="o")
    cost.set(xlabel="calls at once", ylabel="CPU seconds a call-minute", ylim=(0, None))
    _write(figure, path)


def plot_curves(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Write a PNG: share of turns cut off over the wait, a line for each system. Raises CommandFailed."""
    figure = _figure()
    axes = figure.subplots()
    for name, points in curves.items():
        waits_ms, cut_off = [point.wait_ms for point in points], [100 * point.cut_off for point in points]
        axes.plot(waits_ms, cut_off, marker="o", label=name)
        for point in points:
            axes.annotate(point.name, (point.wait_ms, 100 * point.cut_off), fontsize=7)
    axes.set(xlabel="end of voice to decision, mean, ms", ylabel="turns cut off, %", ylim=(0, None))
    axes.legend()
    _write(figure, path)


def plot_kinds(curves: Mapping[str, Mapping[str, Sequence[Point]]], path: Path) -> None:
    """Write an SVG or PNG: share of turns cut off over the wait, a plot for each kind of speech with a line
    for each system. Raises CommandFailed.
    """
    columns = min(len(curves), 3)
    figure = _figure()
    figure.set_size_inches(WIDTH_INCHES, HEIGHT_INCHES * -(-len(curves) // columns))
    for number, (kind, systems) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(-(-len(curves) // columns), columns, number)
        for name, points in systems.items():
            cut_off = [100 * point.cut_off for point in points]
            axes.plot([point.wait_ms for point in points], cut_off, marker="o", markersize=3, label=name)
        axes.set(title=kind, xlabel="mean wait for the decision, ms", ylabel="cut off, %", ylim=(0, None))
    figure.axes[0].legend(fontsize=7)
    _write(figure, path)


def _figure() -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except ImportError as error:
        raise CommandFailed("a plot needs matplotlib: pip install 'voiceagent-server[bench]'") from error
    return Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context  # noqa: PLC0415  an extra

    try:
        with rc_context({"svg.fonttype": "none"}):  # letters as text: a tenth of the size
            figure.savefig(path, dpi=DOTS_PER_INCH, format="svg" if path.suffix == ".svg" else "png")
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {reason_of(error)}") from error
