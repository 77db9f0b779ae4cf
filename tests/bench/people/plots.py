"""Plots of cut-offs over waits. They need the extra `bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from people.outcome import Point
from voiceagent.bench.calls import HEIGHT_INCHES, WIDTH_INCHES, new_figure, write_plot


def plot_curves(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Write a PNG: share of turns cut off over the wait, a line for each system. Raises CommandFailed."""
    figure = new_figure()
    axes = figure.subplots()
    for name, points in curves.items():
        waits_ms, cut_off = [point.wait_ms for point in points], [100 * point.cut_off for point in points]
        axes.plot(waits_ms, cut_off, marker="o", label=name)
        for point in points:
            axes.annotate(point.name, (point.wait_ms, 100 * point.cut_off), fontsize=7)
    axes.set(xlabel="end of voice to decision, mean, ms", ylabel="turns cut off, %", ylim=(0, None))
    axes.legend()
    write_plot(figure, path)


def plot_kinds(curves: Mapping[str, Mapping[str, Sequence[Point]]], path: Path) -> None:
    """Write an SVG or PNG: share of turns cut off over the wait, a plot for each kind of speech with a line
    for each system. Raises CommandFailed.
    """
    columns = min(len(curves), 3)
    figure = new_figure()
    figure.set_size_inches(WIDTH_INCHES, HEIGHT_INCHES * -(-len(curves) // columns))
    for number, (kind, systems) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(-(-len(curves) // columns), columns, number)
        for name, points in systems.items():
            cut_off = [100 * point.cut_off for point in points]
            axes.plot([point.wait_ms for point in points], cut_off, marker="o", markersize=3, label=name)
        axes.set(title=kind, xlabel="mean wait for the decision, ms", ylabel="cut off, %", ylim=(0, None))
    figure.axes[0].legend(fontsize=7)
    write_plot(figure, path)
