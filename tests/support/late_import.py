"""Modules that are imported when a test first uses them.

Every process that runs tests reads all their files. vLLM takes eight seconds of CPU time to import, and its
tests run in one of these processes: the others must not pay for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LateModule:
    """A stand-in for a module, which is imported when an attribute of it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks whatever stands in a test's file whether it is a test
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def late(name: str) -> Any:
    """Return a stand-in for the module of this name. Errors of its import are raised where it is used."""
    return LateModule(name)
