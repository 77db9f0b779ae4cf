"""`voiceagent weights`: which weights can be downloaded, and their download."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Column, Table

from voiceagent.validation.errors import CommandFailed
from voiceagent.weights import WeightsUnavailable, fetch, is_stored, known_weights, weights_folder
from voiceagent.weights.progress import shown_progress


def print_weights(environ: Mapping[str, str]) -> None:
    """Print all sets of weights, and the folder in which they are stored."""
    folder = weights_folder(environ)
    table = Table(Column("name", no_wrap=True), "what", "MB", "stored", "licence", "origin")
    for weights in known_weights().values():
        stored = "yes" if is_stored(weights, folder) else "no"
        size = f"{weights.bytes / 1e6:.0f}"
        table.add_row(weights.name, weights.about, size, stored, weights.licence, weights.origin)
    Console().print(table)
    print(f"stored in {folder} (XDG_CACHE_HOME)")


def fetch_weights(name: str, environ: Mapping[str, str]) -> None:
    """Download the weights called `name`, or verify them, and print their folder. Raises CommandFailed."""
    known = known_weights()
    if name not in known:
        raise CommandFailed(f"weights {name!r} are not known; allowed: {', '.join(known)}")
    try:
        with shown_progress() as progress:
            print(fetch(known[name], weights_folder(environ), progress, environ, verify=True))
    except WeightsUnavailable as error:
        raise CommandFailed(str(error)) from error
