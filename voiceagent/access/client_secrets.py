"""Short-lived keys for clients that must not have the server's key; the client's own backend requests one."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

PREFIX = "ek_"


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """A client secret. value: the key. expires_s: expiry shown to clients, Unix seconds. session: session
    fields of calls made with it. ends_s: expiry on this machine's monotonic clock, which is never adjusted.
    """

    value: str
    expires_s: float
    session: dict[str, Any]
    ends_s: float = field(compare=False)


class ClientSecrets:
    """The unexpired client secrets, by digest. Time is an argument, in monotonic seconds.

    max_secrets: limit; beyond it the oldest are removed.
    """

    def __init__(self, max_secrets: int) -> None:
        self._max = max_secrets
        self._secrets: dict[bytes, ClientSecret] = {}  # oldest first

    def mint(self, session: dict[str, Any], lifetime_s: float, now_s: float, unix_s: float) -> ClientSecret:
        """Return a new key, valid for `lifetime_s` and any number of uses. unix_s: now, Unix seconds."""
        value = PREFIX + secrets.token_urlsafe(24)
        secret = ClientSecret(value, unix_s + lifetime_s, session, now_s + lifetime_s)
        self.keep(secret, now_s)
        return secret

    def keep(self, secret: ClientSecret, now_s: float) -> None:
        """Accept a key that another process made. Idempotent."""
        self._evict(now_s)
        self._secrets[key_digest(secret.value)] = secret

    def secrets(self) -> list[ClientSecret]:
        """Return all client secrets, expired ones included."""
        return list(self._secrets.values())

    def find(self, key: str | None, now_s: float) -> ClientSecret | None:
        """Return the client secret of a key; None if it is unknown or has expired."""
        if key is None or not key.startswith(PREFIX):
            return None
        secret = self._secrets.get(key_digest(key))
        return secret if secret is not None and now_s < secret.ends_s else None

    def _evict(self, now_s: float) -> None:
        for digest, secret in list(self._secrets.items()):
            if secret.ends_s <= now_s or len(self._secrets) >= self._max:
                del self._secrets[digest]


def key_digest(key: str) -> bytes:
    """Return the SHA-256 of a key. Secrets are stored by digest so that memory dumps do not leak them."""
    return sha256(key.encode()).digest()
