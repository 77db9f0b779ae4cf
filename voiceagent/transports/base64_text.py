"""Base64 as it appears in JSON."""

from __future__ import annotations

from binascii import a2b_base64
from string import whitespace

_NO_WHITESPACE = str.maketrans("", "", whitespace)


def from_base64(text: str) -> bytes:
    """Decode base64, in one piece or in lines as MIME has it (RFC 2045, 6.8). Raise ValueError."""
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        joined = text.translate(_NO_WHITESPACE)  # only on failure: nearly all of it comes in one piece
        if joined == text:
            raise
        return a2b_base64(joined, strict_mode=True)
