"""Errors of the command line: one line each, with values in short."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from reprlib import Repr

_SHORT = Repr()
"""Shows the beginning of a value that may be as long as a message, without formatting all of it."""
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 4, 40, 40, 200
PAYLOADS = frozenset({"audio", "image_url"})
"""Fields with audio or a picture. Errors do not repeat their values."""
_SHOWN = 20
"""Maximum number of values of a list or object that an error shows."""


def shorten(value: object) -> str:
    """Return `value` as an error shows it, at most 80 characters."""
    value = _without_payload(value)
    shown = _SHORT.repr(value) if isinstance(value, dict | list | str) else repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _without_payload(value: object) -> object:
    if isinstance(value, list):
        return [_without_payload(inner) for inner in value[:_SHOWN]]
    if not isinstance(value, dict):
        return value
    return {
        name: f"<{len(inner)} characters>"
        if name in PAYLOADS and isinstance(inner, str)
        else _without_payload(inner)
        for name, inner in islice(value.items(), _SHOWN)
    }


def reason_of(error: Exception) -> str:
    """Return the words of an error; of one of the system without its number and its file, "no such file"."""
    words = error.strerror if isinstance(error, OSError) else None
    return words[0].lower() + words[1:] if words else str(error)


class CommandFailed(Exception):
    """A command failed. The message is one line with the reason."""


class ConfigError(Exception):
    """The configuration is invalid. The message is one line with file, key, value and allowed values."""


_WORDS = {
    "Input should be a valid array": "allowed: a list",
    "Input should be ": "allowed: ",
    "String should match pattern ": "allowed: a string of the pattern ",
}
"""Pydantic's words, and ours."""


def config_error(source: Path, key: str, value: object, message: str) -> ConfigError:
    """Return the error of one key of the file `source`, in one line.

    key: "" for the file as a whole. message: also pydantic's, which begin otherwise than ours.
    """
    message = " ".join(message.split())
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours, 1)
    if not key:
        return ConfigError(f"{source}: {message}")
    shown = str(value).lower() if isinstance(value, bool) else repr(value)  # as TOML writes it
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ConfigError(f"{source}: {key} = {shown}: {message}")
