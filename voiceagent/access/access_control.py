"""Authentication of requests on every transport: API keys, client secrets, and pages of this server."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from voiceagent.access.auth import ApiKeys, presented_key
from voiceagent.access.caller_counts import CallerShares, Shares, WrongKeys
from voiceagent.access.client_secrets import PREFIX, ClientSecret, ClientSecrets
from voiceagent.access.config import AccessLimits
from voiceagent.access.requester import AccessRules, NotAdmitted, is_loopback


class OtherGateways(Protocol):
    """Callers' state on other gateways. If they are out of reach, methods return soon, as without them."""

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Make the other gateways accept a client secret."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        """Return the secret that another gateway issued under this key, expired or not; None if unknown."""

    async def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call of a caller over all gateways, as `CallerShares.acquire` does."""

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """Count a wrong key from an address; enough of them, over all gateways, block it."""

    def blocked(self, address: str) -> bool:
        """Return True if an address is blocked for wrong keys sent to any gateway."""


class NoOtherGateways:
    """The other gateways of a server that runs alone: none."""

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Do nothing."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        return None

    async def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Return a release function that does nothing."""
        return lambda: None

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """Do nothing."""

    def blocked(self, address: str) -> bool:
        """Return False."""
        return False


TICKET_S = 8 * 3600
"""Lifetime of a ticket that lets a page read kept calls; after that the page must send the key again."""

PAST_CALLS = 1_000
"""Number of ended calls that the client secret that opened them may still hang up."""
_USUAL_LIMITS = AccessLimits()


@dataclass(frozen=True, slots=True)
class Admitted:
    """An authenticated caller. session: session fields that the client secret prescribes. names: identities
    of the caller, with the maximum number of calls of each. secret: SHA-256 of the client secret, "" for an
    owner.
    """

    session: dict[str, Any] = field(default_factory=dict)
    names: Mapping[str, int] = field(default_factory=dict)
    secret: str = ""


class CallAsked(NamedTuple):
    """A request to hang up a call, to attach a sideband to it, or to resume it. secret: see `Admitted`.
    after: the last event that the client that resumes it received, "" for none; None for other requests.
    """

    call_id: str
    secret: str = ""
    after: str | None = None


class Admission:
    """Admission of callers by request headers (names in lower case) and peer address; raises NotAdmitted.

    keys: the accepted keys, None for none. rules: the rules that do not depend on a key. clock: monotonic
    seconds, shared by all processes of a server; expires secrets and counts wrong keys. shares, wrong_keys:
    counts that may be shared with other processes. unix_clock: seconds since 1970; expires tickets.
    others: the other gateways of the cluster, none by default; set it before the first request.
    """

    def __init__(
        self,
        keys: ApiKeys | None = None,
        rules: AccessRules | None = None,
        limits: AccessLimits = _USUAL_LIMITS,
        clock: Callable[[], float] = time.monotonic,
        shares: CallerShares | None = None,
        wrong_keys: WrongKeys | None = None,
        unix_clock: Callable[[], float] = time.time,
    ) -> None:
        self.rules = AccessRules(keyed=keys is not None) if rules is None else rules
        self.secrets = ClientSecrets(limits.max_client_secrets)
        self.clock = clock
        self._unix_clock = unix_clock
        self._keys = keys
        self._limits = limits
        self._wrong_keys = WrongKeys() if wrong_keys is None else wrong_keys
        self._shares = Shares() if shares is None else shares
        self.others: OtherGateways = NoOtherGateways()
        self._openers: dict[str, str] = {}  # call id -> digest of its client secret
        self._past_openers: OrderedDict[str, str] = OrderedDict()

    def new_secret(self, session: dict[str, Any], lifetime_s: float) -> ClientSecret:
        """Return a new client secret for sessions with these fields. It is valid immediately."""
        return self.secrets.mint(session, lifetime_s, self.clock(), self._unix_clock())

    async def learn(self, headers: Mapping[str, str], peer: str) -> None:
        """Fetch a client secret that another gateway issued, if unknown here. Call before `admit`."""
        key = presented_key(headers)
        if key is None or not key.startswith(PREFIX) or self.secrets.find(key, self.clock()) is not None:
            return
        if self._is_blocked(self.rules.requester(headers, peer).address):
            return
        secret = await self.others.find_secret(key)
        if secret is not None:
            self.secrets.keep(secret, self.clock())

    def admit(self, headers: Mapping[str, str], peer: str) -> Admitted:
        """Authenticate a caller. Raise NotAdmitted."""
        self.rules.check(headers, peer)
        key = presented_key(headers)
        # Secrets first: a page's secret is not a wrong key and must not count as one.
        secret = self.secrets.find(key, self.clock())
        if secret is not None:
            names = self._identities(headers, peer, "secret", secret.value)
            return Admitted(secret.session, names, sha256(secret.value.encode()).hexdigest())
        self._check_key(headers, peer)
        return Admitted({}, self._identities(headers, peer, "key", key))

    def admit_owner(self, headers: Mapping[str, str], peer: str) -> None:
        """Authenticate the holder of an API key; client secrets are not accepted. Raise NotAdmitted."""
        self.rules.check(headers, peer)
        self._check_key(headers, peer)

    def admit_operator(self, headers: Mapping[str, str], peer: str) -> None:
        """Authenticate the holder of an API key, for requests that cost money. A server without keys accepts
        only this machine, even if it is open to callers. Raise NotAdmitted.
        """
        if self._keys is None and not self.rules.from_this_machine(headers, peer):
            message = "outbound calls are for holders of an API key (server.api_keys_env)"
            raise NotAdmitted(403, "key_needed", message)
        self.admit_owner(headers, peer)

    def opener(self, call_id: str) -> str:
        """Return the SHA-256 of the client secret that opened a call of this process, "" if no secret did."""
        return self._openers.get(call_id) or self._past_openers.get(call_id, "")

    def may_control(self, asked: CallAsked) -> bool:
        """Return True if the caller may control this call of this process. An owner may control every call, a
        client secret only the calls that it opened.
        """
        return not asked.secret or self.opener(asked.call_id) == asked.secret

    async def begin_call(self, caller: Admitted, call_id: str) -> Callable[[], None]:
        """Count a call of a caller. Return a function that releases it; calling that twice is safe. Raise
        NotAdmitted if the caller has too many calls.
        """
        here = self._shares.acquire(caller.names)
        if isinstance(here, str):
            raise _too_many(caller, here)
        try:
            everywhere = await self.others.acquire(caller.names)
        except BaseException:
            here()
            raise
        if isinstance(everywhere, str):
            here()
            raise _too_many(caller, everywhere)

        def call_over() -> None:
            here()
            everywhere()
            if (opener := self._openers.pop(call_id, None)) is not None:
                self._past_openers[call_id] = opener
                while len(self._past_openers) > PAST_CALLS:
                    self._past_openers.popitem(last=False)

        if caller.secret:
            self._openers[call_id] = caller.secret
        return call_over

    def may_see_details(self, headers: Mapping[str, str], peer: str) -> bool:
        """Return True for owners and for this machine: they may see the server's numbers and components."""
        if self.rules.from_this_machine(headers, peer):
            return True
        try:
            self._check_key(headers, peer)
        except NotAdmitted:
            return False
        return self._keys is not None

    def admit_reader(self, headers: Mapping[str, str], peer: str, ticket: str) -> None:
        """Authenticate a reader of kept calls: the holder of a key, or of a ticket for one. Without keys only
        this machine may read, even if the server is open to callers. Raise NotAdmitted.
        """
        if self._keys is None:
            if not self.rules.from_this_machine(headers, peer):
                message = "what is kept of calls is for holders of an API key (server.api_keys_env)"
                raise NotAdmitted(403, "key_needed", message)
            self.rules.check(headers, peer)
        elif not self._keys.accepts_ticket(ticket, self._unix_clock()):
            self.rules.check(headers, peer)
            self._check_key(headers, peer)

    def reader_ticket(self, headers: Mapping[str, str], peer: str) -> str:
        """Return a ticket that admits a reader for `TICKET_S` in place of the request's key; "" if the server
        has no keys. Raise NotAdmitted.
        """
        self.admit_reader(headers, peer, "")
        key = presented_key(headers)
        if self._keys is None or key is None:
            return ""
        return self._keys.ticket(key, self._unix_clock() + TICKET_S)

    def _is_blocked(self, address: str) -> bool:
        most = self._limits.max_failed_auth_per_minute
        return self._wrong_keys.blocked(address, self.clock(), most) or self.others.blocked(address)

    def _check_key(self, headers: Mapping[str, str], peer: str) -> None:
        if self._keys is None:
            return
        key, address = presented_key(headers), self.rules.requester(headers, peer).address
        most = self._limits.max_failed_auth_per_minute
        # Before the key is checked: someone who guesses must not learn that a guess was right.
        if self._is_blocked(address):
            message = f"{most} wrong keys came within a minute"
            raise NotAdmitted(429, "too_many_wrong_keys", f"{message}; try again in a minute")
        if not self._keys.accepts(key):
            # a client secret is refused here, but it is no attempt to guess a key
            if key is not None and self.secrets.find(key, self.clock()) is None:
                self._wrong_keys.note(address, self.clock())
                self.others.note_wrong_key(address, most)
            raise NotAdmitted(401, "invalid_api_key", "the API key is missing, wrong, or has expired")

    def _identities(
        self, headers: Mapping[str, str], peer: str, kind: str, key: str | None
    ) -> dict[str, int]:
        """Return the identities of a caller, each with its maximum number of calls. Callers on this machine,
        and keys without a limit, are bound by `server.max_calls` only.
        """
        names: dict[str, int] = {}
        address = self.rules.requester(headers, peer).address
        if address and not is_loopback(address):
            names[f"address {address}"] = self._limits.max_calls_per_address
        limits = self._limits
        most = limits.max_calls_per_key if kind == "key" else limits.max_calls_per_secret
        if key is not None and most:
            # A digest, because names are counted in memory and stores that several processes share.
            names[f"{kind} {sha256(key.encode()).hexdigest()}"] = most
        return names


def _too_many(caller: Admitted, name: str) -> NotAdmitted:
    kind, most = name.partition(" ")[0], caller.names[name]
    message = f"this {kind} has {most} calls; allowed: at most {most} (limits.max_calls_per_{kind})"
    return NotAdmitted(429, "too_many_calls", message)
