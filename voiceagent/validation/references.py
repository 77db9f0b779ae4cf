"""References in a configuration: paths, and objects named `package.module:name`."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from voiceagent.weights import is_stored, known_weights, weights_folder

_WEIGHTS = re.compile(r"weights:(?P<name>[\w.-]+)(?:/(?P<rest>[^\n]*))?")
_PACKAGE = re.compile(r"package:(?P<package>[A-Za-z_][\w.]*)(?:/(?P<rest>[^\n]*))?")


def find_path(value: str, folder: Path) -> Path | None:
    """Return the path that `value` denotes; None if it is not a path.

    `./x` and `../x` are relative to `folder`, `package:a.b/x` to the folder of the installed package `a.b`,
    `~/x` to the home folder, `weights:a/x` to the folder of the downloaded weights `a`. Raises
    FileNotFoundError if the path, the package or the weights do not exist.
    """
    if (match := _WEIGHTS.fullmatch(value)) is not None:
        return _in_weights(match["name"], match["rest"] or "")
    if (match := _PACKAGE.fullmatch(value)) is not None:
        path = _package_folder(match["package"]) / (match["rest"] or "")
    elif value.startswith(("./", "../")):
        path = (folder / value).resolve()
    elif value.startswith("~/"):
        path = Path(value).expanduser()
    else:
        return None
    if not path.exists():
        raise FileNotFoundError(f"no such file or folder: {path}")
    return path


def resolve_paths(value: Any, folder: Path) -> Any:
    """Return `value` with every path, in tables and lists too, made absolute. Raises FileNotFoundError."""
    match value:
        case str():
            path = find_path(value, folder)
            return value if path is None else str(path)
        case list():
            return [resolve_paths(item, folder) for item in value]
        case dict():
            return {key: resolve_paths(item, folder) for key, item in value.items()}
        case _:
            return value


def import_object(name: str, folder: Path | None = None) -> Any:
    """Import the object `package.module:name`; modules in `folder` are found after installed ones.

    Raises ValueError if `name` has another form, ImportError if it does not exist.
    """
    module_name, colon, attribute = name.partition(":")
    if not (
        colon and attribute.isidentifier() and all(part.isidentifier() for part in module_name.split("."))
    ):
        raise ValueError("not of the form package.module:name")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        module = import_module(module_name)
    except SystemExit as error:  # likely a script without a guard: the server would exit silently
        raise ImportError(f"module {module_name} ends the program as it is imported") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ImportError(f"module {module_name} has no {attribute}") from None


def weights_in(value: Any) -> set[str]:
    """Return the names of weights in a value, or in a list or table of values, written `weights:NAME/...`."""
    match value:
        case str():
            found = _WEIGHTS.fullmatch(value)
            return set() if found is None else {found["name"]}
        case list():
            return set().union(*map(weights_in, value))
        case dict():
            return set().union(*map(weights_in, value.values()))
        case _:
            return set()


def _in_weights(name: str, rest: str) -> Path:
    known = known_weights()
    if name not in known:
        raise FileNotFoundError(f"no such weights: {name}; allowed: {', '.join(known)}")
    folder = weights_folder(os.environ)
    if not is_stored(known[name], folder):
        raise FileNotFoundError(f"weights {name} are not stored: voiceagent weights {name}")
    path = folder / name / rest
    if not path.exists():
        raise FileNotFoundError(f"weights {name} have no {rest}")
    return path


def _package_folder(name: str) -> Path:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise FileNotFoundError(f"no such package: {name}")
    return Path(places[0])
