"""Errors of the command line: one line each."""

from __future__ import annotations

from pathlib import Path


class CommandFailed(Exception):
    """A command failed. The message is one line with the reason."""


class ConfigError(Exception):
    """The configuration is invalid. The message is one line with file, key, value and allowed values."""


def config_error(source: Path, key: str, value: object, message: str) -> ConfigError:
    """Return the error of one key of the file `source`, in one line. key: "" for the file as a whole."""
    if not key:
        return ConfigError(f"{source}: {' '.join(message.split())}")
    shown = str(value).lower() if isinstance(value, bool) else repr(value)  # as TOML writes it
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ConfigError(f"{source}: {key} = {shown}: {' '.join(message.split())}")
