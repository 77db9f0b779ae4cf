"""MCP servers that client sessions may reach: by URL and by resolved address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from posixpath import normpath
from urllib.parse import unquote, urlsplit

_PORTS = {"http": 80, "https": 443}
_NAT64, _LOCAL_NAT64 = ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48")
"""NAT64 prefixes: RFC 6052, section 2.1, and RFC 8215, a local one that `ipaddress` treats as global."""


class NotAllowed(ValueError):
    """The server may not be reached; the text names it and gives the reason."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Allowed servers. urls: each allows all URLs below it.

    networks: allowed private networks, in addition to addresses written in `urls`.
    """

    urls: tuple[str, ...]
    networks: tuple[str, ...] = ()

    def check_url(self, url: str) -> None:
        """Raise NotAllowed unless an allowed URL is a prefix of this one."""
        try:
            parts = urlsplit(url)
            is_valid = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_valid = False
        if not is_valid or "@" in parts.netloc or any(ord(character) <= 0x20 for character in url):
            raise NotAllowed(
                f"{url!r} is no URL of an MCP server; allowed: http:// or https://, no user name"
            )
        if not any(_is_below(allowed, url) for allowed in self.urls):
            raise NotAllowed(f"{url!r} is not among the MCP servers that sessions may reach")

    def check_address(self, host: str, address: str) -> None:
        """Raise NotAllowed if a host name resolves to an address that is neither public nor allowed."""
        found = _address(address)
        named = {urlsplit(url).hostname for url in self.urls}
        if host in named and (_is_address(host) or (host == "localhost" and found.is_loopback)):
            return
        if found.is_global and not found.is_multicast and found not in _LOCAL_NAT64:
            return
        networks = (ip_network(network) for network in self.networks)
        if not any(found.version == network.version and found in network for network in networks):
            raise NotAllowed(f"{host} is at a private address; allowed: those of mcp.private_networks")


def check_addresses(reach: Reach | None, host: str, addresses: Sequence[str]) -> str:
    """Return the address to connect to. Raises NotAllowed if any of a name's addresses is not allowed.

    reach: None for a configured server.
    """
    if not addresses:
        raise NotAllowed(f"{host} has no address")
    if reach is not None:
        for address in addresses:
            reach.check_address(host, address)
    return addresses[0]


def _is_below(allowed: str, url: str) -> bool:
    """Return True if `url` is `allowed` or below it: same origin, whole path segments."""
    one, other = urlsplit(allowed), urlsplit(url)
    if (one.scheme, one.hostname, _port(allowed)) != (other.scheme, other.hostname, _port(url)):
        return False
    path, other_path = one.path.rstrip("/"), unquote(other.path) or "/"
    # .. and // may leave the path
    if "\\" in other_path or normpath(other_path).rstrip("/") != other_path.rstrip("/"):
        return False
    return other_path.rstrip("/") == path or other_path.startswith(f"{path}/")


def _port(url: str) -> int | None:
    parts = urlsplit(url)
    return parts.port or _PORTS.get(parts.scheme)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _address(text: str) -> IPv4Address | IPv6Address:
    """Parse an address. IPv4 in IPv6 notation or behind NAT64 counts as IPv4."""
    found = ip_address(text.partition("%")[0])
    if isinstance(found, IPv6Address):
        if found in _NAT64:
            return IPv4Address(int(found) & 0xFFFFFFFF)
        return found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else found)
    return found
