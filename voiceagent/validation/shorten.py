"""Values as errors show them."""

from __future__ import annotations

from itertools import islice
from reprlib import Repr

_SHORT = Repr()
"""Shows the beginning of a value that may be as long as a message, without formatting all of it."""
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 4, 40, 40, 200


def shorten(value: object) -> str:
    """Return `value` as an error shows it, at most 80 characters."""
    value = _without_payload(value)
    shown = _SHORT.repr(value) if isinstance(value, dict | list | str) else repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


PAYLOADS = frozenset({"audio", "image_url"})
"""Fields with audio or a picture. Errors do not repeat their values."""
_SHOWN = 20
"""Maximum number of values of a list or object that an error shows."""


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
