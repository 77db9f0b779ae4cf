"""Whose request it is: the address behind proxies, and what must hold where no key is asked for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

_FORWARDED = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded")
"""What proxies add to the requests that they pass on."""


class NotAdmitted(Exception):
    """The caller may not call; the text says why. status: of HTTP. code: the protocol's name of the
    mistake.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Requester:
    """address: the IP address that a request comes from, behind trusted proxies; "" where it is not known.
    forwarded: it came through a proxy that is not trusted, and may be anybody's.
    """

    address: str
    forwarded: bool = False


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What holds of requests whatever keys they have. headers, below: names in lower case. peer: the address
    at the other end of the connection.

    keyed: a key is asked for. open: without keys everyone may call. local: without keys nobody but this
    machine may. proxies: whose word about a request's origin is taken. origins: of pages that may call
    beside this server's own; None for those of any site where a key is asked for, and none else.
    """

    keyed: bool = False
    open: bool = False
    local: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    origins: frozenset[str] | None = None

    @property
    def from_anywhere(self) -> bool:
        """Whether pages of any site may call, if they have a key where one is needed."""
        return self.origins is None and (self.keyed or self.open)

    def requester(self, headers: Mapping[str, str], peer: str) -> Requester:
        """Whose request it is: a trusted proxy says for whom it asks, the last of them first."""
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
        """Raises NotAdmitted for a request that is not to be let in, whatever its key."""
        if not self.keyed and not self.open:
            self._check_local(headers, peer)
        if not self._may_call(headers):
            message = f"pages of {headers['origin'][:200]} may not call this server (server.allowed_origins)"
            raise NotAdmitted(403, "origin_not_allowed", message)

    def from_this_machine(self, headers: Mapping[str, str], peer: str) -> bool:
        """Whether a request comes from this machine itself, through no proxy, and names no other."""
        forwarded = any(name in headers for name in _FORWARDED)
        return is_loopback(peer) and not forwarded and _names_loopback(headers)

    def _check_local(self, headers: Mapping[str, str], peer: str) -> None:
        if self.requester(headers, peer).forwarded:
            message = "requests through a proxy need keys (server.api_keys_env) or server.trusted_proxies"
            raise NotAdmitted(403, "proxy_not_trusted", message)
        if self.local and not self._trusts(peer) and not _names_loopback(headers):
            # A page anywhere may have its own name resolved to this machine (DNS rebinding).
            message = f"the host {headers.get('host', '')[:200]!r} is not this machine; allowed: localhost"
            raise NotAdmitted(403, "host_not_allowed", message)

    def _may_call(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is None or self.from_anywhere or (self.origins is not None and origin in self.origins):
            return True
        # Without keys any page that a developer visits could else call the server on his own machine.
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
    """Addresses, as "10.0.0.7", and networks, as "10.0.0.0/8". Raises ValueError."""
    return tuple(map(ip_network, given))


def is_loopback(host: str) -> bool:
    """Whether an address, or the name of a host, is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _names_loopback(headers: Mapping[str, str]) -> bool:
    """Whether the host that a request is for is this machine."""
    try:
        host = urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)
