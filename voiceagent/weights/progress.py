"""Progress of downloads: a bar for each on a terminal, a line at the beginning of each elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from voiceagent.weights.store import Progress as OnProgress


@contextmanager
def shown_progress() -> Iterator[OnProgress]:
    """Show downloads on standard error while the context lasts."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield _announced(console)
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def update(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name)
            bars.update(tasks[name], completed=done, total=total or None)

        yield update


def _announced(console: Console) -> OnProgress:
    begun: set[str] = set()

    def update(name: str, _: int, total: int) -> None:
        if name not in begun:
            begun.add(name)
            size = f", {total / 1e6:.0f} MB" if total else ""
            console.print(f"downloading {name}{size}", highlight=False)

    return update
