"""Reads a folder of scenarios: TOML files, Python files, and `eval.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from runpy import run_path
from typing import Any

from voiceagent.evals.scenario import EvalFile, Scenario, parse
from voiceagent.validation.errors import ConfigError, reason_of
from voiceagent.validation.section import check

SETTINGS = "eval.toml"
"""Name of the file with a folder's settings."""


def read_settings(folder: Path) -> EvalFile:
    """Return the settings of a folder, the defaults without a file. Raises ConfigError."""
    path = folder / SETTINGS
    return check(EvalFile, _toml(path), path) if path.exists() else EvalFile()


def read_scenarios(folder: Path, only: Sequence[str] = ()) -> list[Scenario]:
    """Return the scenarios of a folder in order of their names.

    only: names, or patterns such as "breakfast*"; all by default. Raises ConfigError.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder; allowed: a folder of scenarios, *.toml or *.py")
    found: dict[str, Scenario] = {}
    for path in sorted(folder.iterdir()):
        for scenario in _scenarios_in(path):
            if scenario.name in found:
                raise ConfigError(f"{path}: a second scenario is called {scenario.name}")
            found[scenario.name] = scenario
    if not found:
        raise ConfigError(f"{folder}: no scenario; allowed: files *.toml, or *.py with SCENARIOS")
    for pattern in only:
        if not any(fnmatch(name, pattern) for name in found):
            raise ConfigError(f"{folder}: no scenario is called {pattern}; allowed: {', '.join(found)}")
    return [
        found[name] for name in sorted(found) if not only or any(fnmatch(name, pattern) for pattern in only)
    ]


def _scenarios_in(path: Path) -> Iterator[Scenario]:
    if path.suffix == ".toml" and path.name != SETTINGS:
        yield Scenario(path.stem, parse(_toml(path), path))
    elif path.suffix == ".py" and not path.name.startswith("_"):
        yield from _coded(path)


def _coded(path: Path) -> Sequence[Scenario]:
    """Return `SCENARIOS` of a Python file."""
    try:
        scenarios: Any = run_path(str(path)).get("SCENARIOS")
    except ConfigError as error:  # of `Scenario.of`, which does not know the file
        raise ConfigError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:  # user code
        raise ConfigError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(scenarios, list | tuple) or not all(isinstance(one, Scenario) for one in scenarios):
        raise ConfigError(f"{path}: SCENARIOS = {scenarios!r}; allowed: a list of Scenario")
    return scenarios


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {reason_of(error)}") from error
