"""The address that a provider used: what it signs, and where its streams are to go. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"https": "443", "wss": "443", "http": "80", "ws": "80"}
_PORT = re.compile(r"(.*?)(?::(\d+))?", re.DOTALL)


def public_url(path: str, headers: Mapping[str, str], secure: bool, configured: str | None) -> str:
    """The URL, with https or http, of a request for `path` (its query with it) as its sender wrote it.

    A proxy changes scheme and host: `configured`, the public URL of the server, stands in for both, else the
    proxy's own X-Forwarded-Proto and X-Forwarded-Host. headers: names in lower case. Who forges them makes
    the URL one that was never signed; what is no host at all is passed over.
    """
    if configured is not None:
        return configured.rstrip("/") + path
    scheme = _first(headers.get("x-forwarded-proto")) or ("https" if secure else "http")
    host = _first(headers.get("x-forwarded-host"))
    if not is_host(host):
        host = headers.get("host", "")
    return f"{'https' if scheme in ('https', 'wss') else 'http'}://{host}{path}"


def is_host(text: str) -> bool:
    """Whether it is a host, with its port if it has one: to read a URL that is made of another may raise."""
    try:
        parts = urlsplit(f"http://{text}")
        named = parts.netloc == text and parts.hostname is not None and parts.port != 0
    except ValueError:
        return False
    return named and text.isascii() and text.isprintable() and " " not in text


def websocket_url(url: str) -> str:
    """The same address as a WebSocket's: wss for https, ws for http."""
    return "ws" + url.removeprefix("http")


def with_and_without_port(url: str) -> tuple[str, str]:
    """The URL with the port of its scheme written out if it has none, and without any port.

    Providers do not agree whether a port is part of what they sign.
    """
    parts = urlsplit(url)
    host, port = _PORT.fullmatch(parts.netloc).groups()  # type: ignore[union-attr]  # it matches any text
    port = port or _DEFAULT_PORTS.get(parts.scheme, "80")
    return parts._replace(netloc=f"{host}:{port}").geturl(), parts._replace(netloc=host).geturl()


def _first(value: str | None) -> str:
    """The first of several proxies' values."""
    return (value or "").partition(",")[0].strip()
