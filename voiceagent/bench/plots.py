"""The plot of `bench calls`. It needs the extra `bench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from voiceagent.validation.errors import CommandFailed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 9.0, 3.6, 120


def plot_calls(results: Sequence[dict[str, float]], path: Path) -> None:
    """Write a PNG: latency, and CPU, over the number of calls. Raises CommandFailed."""
    figure = new_figure()
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
    write_plot(figure, path)


def new_figure() -> Figure:
    """Return an empty figure. Raises CommandFailed without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except ImportError as error:
        raise CommandFailed("a plot needs matplotlib: pip install 'voiceagent-server[bench]'") from error
    return Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")


def write_plot(figure: Figure, path: Path) -> None:
    """Write a figure as SVG or PNG, by the file's name. Raises CommandFailed."""
    from matplotlib import rc_context  # noqa: PLC0415  an extra

    try:
        with rc_context({"svg.fonttype": "none"}):  # letters as text: a tenth of the size
            figure.savefig(path, dpi=DOTS_PER_INCH, format="svg" if path.suffix == ".svg" else "png")
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {error}") from error
