"""What a command of the command line fails with: each error is one line for whoever typed it."""

from __future__ import annotations

from pathlib import Path


class CommandFailed(Exception):
    """The command could not do what it was asked for; one line that says why."""


class ConfigError(Exception):
    """The configuration cannot be used; one line with the file, the key, the value and what is allowed."""


def problem(source: Path, key: str, value: object, message: str) -> ConfigError:
    """The error of one key of the file `source`, in one line."""
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ConfigError(f"{source}: {key} = {shown}: {' '.join(message.split())}")
