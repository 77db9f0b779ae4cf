"""Whether a handshake carries a password, as Asterisk sends it (RFC 7617). Pure."""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping


def has_password(password: str, headers: Mapping[str, str]) -> bool:
    """Whether `Authorization` holds this password, for whatever user. headers: names in lower case."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    try:
        sent = b64decode(given.strip(), validate=True).partition(b":")[2]
    except (Base64Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(sent, password.encode())


def is_secret(secret: str, given: str | None) -> bool:
    """Whether `given` is the secret, compared in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), secret.encode())
