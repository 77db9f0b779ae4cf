"""API keys, as clients of the OpenAI Realtime API send them."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from voiceagent.access.client_secrets import key_digest
from voiceagent.access.config import LOOPBACK, AccessConfig
from voiceagent.access.requester import AccessRules, networks
from voiceagent.validation.errors import config_error

KEY_PROTOCOL = "openai-insecure-api-key."
"""Prefix of the subprotocol that carries the key: browsers cannot set headers on a WebSocket."""


class ApiKeys:
    """The accepted keys, stored as digests and compared in constant time."""

    def __init__(self, keys: frozenset[str]) -> None:
        self._digests = [key_digest(key) for key in keys]

    def accepts(self, key: str | None) -> bool:
        """Return True if the key is accepted; False for None (no key sent)."""
        if key is None:
            return False
        digest = key_digest(key)
        # a list: compares all, in constant time
        return any([hmac.compare_digest(digest, known) for known in self._digests])

    def ticket(self, key: str, until: float) -> str:
        """Return a ticket for a key, valid until `until` (Unix seconds): a signed time, without the key."""
        return f"{round(until)}.{_signed(key_digest(key), round(until))}"

    def accepts_ticket(self, ticket: str, now: float) -> bool:
        """Return True if the ticket was signed with an accepted key and has not expired. Removing a key
        revokes its tickets.
        """
        until, _, signature = ticket.partition(".")
        if not until.isascii() or not until.isdigit() or len(until) > 12 or int(until) <= now:
            return False
        signatures = [_signed(digest, int(until)) for digest in self._digests]
        return any([hmac.compare_digest(signature.encode(), known.encode()) for known in signatures])


def _signed(digest: bytes, until: int) -> str:
    return hmac.new(digest, b"voiceagent calls until %d" % until, sha256).hexdigest()


def accepted_keys(table: AccessConfig, source: Path, environment: Mapping[str, str]) -> ApiKeys | None:
    """Return the keys that `[server]` of the file `source` names, None if there are none and everyone may
    call.

    Raise ConfigError.
    """
    name = table.api_keys_env
    if name is None:
        return None
    keys = frozenset(re.split(r"[,\s]+", environment.get(name, ""))) - {""}
    if not keys:
        allowed = "one that holds keys, separated by commas or spaces"
        message = f"this environment variable is empty or not set; allowed: {allowed}"
        raise config_error(source, "server.api_keys_env", name, message)
    return ApiKeys(keys)


def access_rules(table: AccessConfig) -> AccessRules:
    """Return the rules of `[server]` that do not depend on a key."""
    keyed = table.api_keys_env is not None
    origins = None if table.allowed_origins is None else frozenset(table.allowed_origins)
    return AccessRules(
        keyed=keyed,
        open=table.open and not keyed,
        local=table.host in LOOPBACK,
        proxies=networks(table.trusted_proxies),
        origins=origins,
    )


def presented_key(headers: Mapping[str, str]) -> str | None:
    """Return the key in a request's headers (names in lower case), None if there is none."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    for protocol in headers.get("sec-websocket-protocol", "").split(","):
        if protocol.strip().startswith(KEY_PROTOCOL):
            return protocol.strip().removeprefix(KEY_PROTOCOL) or None
    return None
