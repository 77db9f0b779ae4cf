"""Objects named in a configuration as `package.module:name`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def import_object(name: str, folder: Path | None = None) -> Any:
    """The object `package.module:name`; modules in `folder` are found too, after the installed ones.

    Raises ValueError where `name` is not of that form, ImportError where it names nothing.
    """
    module_name, colon, attribute = name.partition(":")
    if not (
        colon and attribute.isidentifier() and all(part.isidentifier() for part in module_name.split("."))
    ):
        raise ValueError("not of the form package.module:name")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    module = import_module(module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ImportError(f"module {module_name} has no {attribute}") from None
