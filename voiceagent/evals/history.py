"""Folder of all evals: the results of each as JSON, and its calls by sound."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import structlog

from voiceagent.evals.results import Results, read_results
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()


class PastEval(NamedTuple):
    """A stored eval. eval_id: name of its file."""

    eval_id: str
    results: Results


def calls_folder(folder: Path) -> Path:
    """Return the folder of the kept calls."""
    return folder / "calls"


def create(folder: Path) -> None:
    """Create the folder, which git ignores. Raises CommandFailed."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{folder}: cannot be created ({error}); allowed: --results FOLDER") from error


def store(folder: Path, results: Results) -> Path:
    """Write results into the folder and return the file, which is named after the start in UTC.

    Raises OSError.
    """
    name = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(results.began_at))
    path, number = folder / f"{name}.json", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    unfinished = path.with_suffix(".part")  # the page may be reading
    unfinished.write_text(json.dumps(results.as_json(), indent=1), encoding="utf-8")
    return unfinished.rename(path)


class History:
    """Evals of a folder. A file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, PastEval] = {}
        self._unreadable: set[str] = set()

    def evals(self) -> list[PastEval]:
        """Return all evals, oldest first. A file that cannot be read as one is logged and left out."""
        paths = {path.stem: path for path in self._folder.glob("*.json")}
        for name in self._known.keys() - paths.keys():
            del self._known[name]
        for name in sorted(paths.keys() - self._known.keys() - self._unreadable):
            try:
                self._known[name] = PastEval(name, read_results(paths[name]))
            except CommandFailed as error:
                self._unreadable.add(name)
                log.warning("eval_results_unreadable", file=str(paths[name]), error=str(error))
        return sorted(self._known.values(), key=lambda one: (one.results.began_at, one.eval_id))


def of_same_scenarios(evals: Sequence[PastEval], one: PastEval) -> list[PastEval]:
    """Return the evals of the same folder of scenarios in the same form, by sound or typed."""
    return [other for other in evals if series_of(other) == series_of(one)]


def series_of(one: PastEval) -> tuple[str, bool]:
    """Return the folder of scenarios, and True if they were typed: within these, evals are comparable."""
    return one.results.folder, one.results.typed
