"""Short-lived keys for clients that must not know the server's own: a page asks its own server for one."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

PREFIX = "ek_"


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """value: the key. expires_s: when it ends, in seconds since 1970, for those who ask for one. session:
    fields of the session that calls made with it begin with. ends_s: when it ends here, by the monotonic
    clock of this machine, which nobody sets.
    """

    value: str
    expires_s: float
    session: dict[str, Any]
    ends_s: float = field(compare=False)


class ClientSecrets:
    """The secrets given out that have not ended, kept by their digests. Time is an argument, in monotonic
    seconds.

    max_secrets: kept at once; beyond that the oldest end early.
    """

    def __init__(self, max_secrets: int) -> None:
        self._max = max_secrets
        self._secrets: dict[bytes, ClientSecret] = {}  # in the order of their making

    def mint(self, session: dict[str, Any], lifetime_s: float, now_s: float, unix_s: float) -> ClientSecret:
        """Make a key that is accepted for `lifetime_s`, as often as it is shown. unix_s: since 1970."""
        value = PREFIX + secrets.token_urlsafe(24)
        secret = ClientSecret(value, unix_s + lifetime_s, session, now_s + lifetime_s)
        self.keep(secret, now_s)
        return secret

    def keep(self, secret: ClientSecret, now_s: float) -> None:
        """Accept a key that was made elsewhere; a second time changes nothing."""
        self._forget(now_s)
        self._secrets[key_digest(secret.value)] = secret

    def kept(self) -> list[ClientSecret]:
        """All of them."""
        return list(self._secrets.values())

    def find(self, key: str | None, now_s: float) -> ClientSecret | None:
        """What belongs to a key; None where it was never made or has ended."""
        if key is None or not key.startswith(PREFIX):
            return None
        secret = self._secrets.get(key_digest(key))
        return secret if secret is not None and now_s < secret.ends_s else None

    def _forget(self, now_s: float) -> None:
        for digest, secret in list(self._secrets.items()):
            if secret.ends_s <= now_s or len(self._secrets) >= self._max:
                del self._secrets[digest]


def key_digest(key: str) -> bytes:
    """What is kept of a key: from it nobody finds the key."""
    return sha256(key.encode()).digest()
