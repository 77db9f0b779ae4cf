"""Base64 as it appears in JSON."""

from __future__ import annotations

from string import whitespace

from pybase64 import b64decode

_NO_WHITESPACE = str.maketrans("", "", whitespace)


def from_base64(text: str) -> bytes:
    """Decode base64, in one piece or in lines as MIME has it (RFC 2045, 6.8). Raise ValueError."""
    try:
        return b64decode(text, None, True)  # by position: named arguments double the time of 20 ms of sound
    except ValueError:
        joined = text.translate(_NO_WHITESPACE)  # only on failure: nearly all of it comes in one piece
        if joined == text:
            raise
        return b64decode(joined, None, True)
