"""The figures of `bench llm` as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from voiceagent.validation.errors import CommandFailed

WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 9.0, 3.6, 120


def plot_llm(results: Sequence[tuple[str, int, Mapping[str, float]]], path: Path) -> None:
    """Write a PNG: TTFT and ITL over the number of calls, a line a variant. Raises CommandFailed.

    results: variant, calls at once, and the figures by name.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except ImportError as error:
        raise CommandFailed("a plot needs matplotlib: pip install 'voiceagent[bench]'") from error
    figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("TTFT p95 ms", "ITL p95 ms"), strict=True):
        for variant in dict.fromkeys(variant for variant, _, _ in results):
            points = sorted((calls, row[name]) for v, calls, row in results if v == variant and name in row)
            axes.plot([calls for calls, _ in points], [ms for _, ms in points], marker="o", label=variant)
        axes.set(xlabel="calls at once", ylabel=name.removesuffix(" ms") + ", ms", ylim=(0, None))
    figure.axes[0].legend()
    try:
        figure.savefig(path, dpi=DOTS_PER_INCH, format="png")
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {error}") from error
