"""`voiceagent weights` and `voiceagent convert`: weights to download, and GGUF models for other engines."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Column, Table

from llmcore.engine import SetupError
from llmcore.gguf.checkpoint import write_checkpoint
from llmcore.gguf.ct2_model import write_ct2_model
from llmcore.gguf.file import GgufFile
from voiceagent.validation.errors import CommandFailed, reason_of
from voiceagent.weights import (
    WeightsUnavailable,
    fetch,
    find_weights,
    is_stored,
    known_weights,
    weights_folder,
)
from voiceagent.weights.progress import shown_progress

TargetFormat = Literal["checkpoint", "ctranslate2"]


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


def convert(source: str, folder: Path, target: TargetFormat, environ: Mapping[str, str]) -> None:
    """Write the model at `source`, a path or `weights:NAME/FILE`, into `folder`. Raises CommandFailed."""
    if find_spec("gguf") is None:
        raise CommandFailed(
            "the package gguf is not installed; install it with: pip install 'voiceagent-server[gguf]'"
        )
    if folder.exists() and any(folder.iterdir()):
        raise CommandFailed(f"{folder}: this folder is not empty")
    try:
        with GgufFile(find_weights(source, environ) or Path(source)) as file:
            (write_checkpoint if target == "checkpoint" else write_ct2_model)(file, folder)
    except (SetupError, FileNotFoundError) as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{folder}: {reason_of(error)}") from error
    print(folder)
