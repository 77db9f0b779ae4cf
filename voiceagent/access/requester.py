"""The address behind proxies that a request comes from, and the rules for servers without keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

_FORWARDED = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded")
"""Headers that proxies add."""


class NotAdmitted(Exception):
    """A refused caller; the text is the reason. status: HTTP status. code: the protocol's error code."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Requester:
    """Sender of a request. address: its IP address behind trusted proxies, "" if unknown. forwarded: the
    request came through an untrusted proxy, so the address may belong to anyone.
    """

    address: str
    forwarded: bool = False


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Rules for requests that do not depend on a key. Below, headers have names in lower case, and peer is
    the address at the other end of the connection.

    keyed: a key is required. open: without keys everyone may call. local: without keys only this machine
    may call. proxies: trusted for the address of a request. origins: of pages that may call, besides the
    server's own; None for any origin if a key is required, else none.
    """

    keyed: bool = False
    open: bool = False
    local: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    origins: frozenset[str] | None = None

    @property
    def from_anywhere(self) -> bool:
        """True if pages of any origin may call (with a key, where one is required)."""
        return self.origins is None and (self.keyed or self.open)

    def requester(self, headers: Mapping[str, str], peer: str) -> Requester:
        """Return the sender of a request, following X-Forwarded-For from the last trusted proxy backwards."""
        if not any(name in headers for name in _FORWARDED):
            return Requester(peer)
        hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]
        address = peer
        while self._trusts(address):
            if not hops:
                return Requester(address)
            address = hops.pop()
        return Requester(address, forwarded=address == peer)

    def check(self, headers: Mapping[str, str], peer: str) -> None:
        """Raise NotAdmitted for a request that is refused whatever its key."""
        if not self.keyed and not self.open:
            self._check_local(headers, peer)
        if not self._may_call(headers):
            message = f"pages of {headers['origin'][:200]} may not call this server (server.allowed_origins)"
            raise NotAdmitted(403, "origin_not_allowed", message)

    def from_this_machine(self, headers: Mapping[str, str], peer: str) -> bool:
        """Return True if a request comes from this machine, through no proxy, and for a loopback host."""
        forwarded = any(name in headers for name in _FORWARDED)
        return is_loopback(peer) and not forwarded and _names_loopback(headers)

    def _check_local(self, headers: Mapping[str, str], peer: str) -> None:
        if self.requester(headers, peer).forwarded:
            message = "requests through a proxy need keys (server.api_keys_env) or server.trusted_proxies"
            raise NotAdmitted(403, "proxy_not_trusted", message)
        if self.local and not self._trusts(peer) and not _names_loopback(headers):
            # DNS rebinding: any page may make its own host name resolve to this machine.
            message = f"the host {headers.get('host', '')[:200]!r} is not this machine; allowed: localhost"
            raise NotAdmitted(403, "host_not_allowed", message)

    def _may_call(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is None or self.from_anywhere or (self.origins is not None and origin in self.origins):
            return True
        # Without keys, any page that a developer visits could otherwise call a server on their machine.
        try:
            return urlsplit(origin).netloc == headers.get("host")
        except ValueError:
            return False

    def _trusts(self, address: str) -> bool:
        try:
            known = ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self.proxies)


def networks(given: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Parse addresses, as "10.0.0.7", and networks, as "10.0.0.0/8". Raise ValueError."""
    return tuple(map(ip_network, given))


def is_loopback(host: str) -> bool:
    """Return True if an address or host name is a loopback one."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _names_loopback(headers: Mapping[str, str]) -> bool:
    """Return True if the Host header names this machine."""
    try:
        host = urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)
