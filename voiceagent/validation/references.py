"""References in a configuration: paths, and objects named `package.module:name`."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGE = re.compile(r"package:(?P<package>[A-Za-z_][\w.]*)(?:/(?P<rest>[^\n]*))?")


def find_path(value: str, folder: Path) -> Path | None:
    """Return the path that `value` denotes; None if it is not a path.

    `./x` and `../x` are relative to `folder`, `package:a.b/x` to the folder of the installed package `a.b`,
    `~/x` to the home folder. Raises FileNotFoundError if the path or the package does not exist.
    """
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
    """Return `value` with every path in it, in tables and lists too, made absolute. Raises
    FileNotFoundError.
    """
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


def _package_folder(name: str) -> Path:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise FileNotFoundError(f"no such package: {name}")
    return Path(places[0])
