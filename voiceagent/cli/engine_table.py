"""`voiceagent engines`: what can be chosen for each stage."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from voiceagent.engines.catalogue import KNOWN_ENGINES, KnownEngine


def print_engines() -> None:
    """Print the table."""
    table = Table("stage", "engine", "installed", "needs", "licence")
    for known in KNOWN_ENGINES:
        table.add_row(known.stage, known.name, _state(known), known.needs, known.licence)
    console = Console()
    console.print(table)
    console.print(
        "Any other engine is named as package.module:Class, with its keyword arguments as keys beside it."
    )


def _state(known: KnownEngine) -> str:
    return "yes" if known.installed() else f"no: {known.install}"
