"""The public URL of a request: providers sign it, and streams connect to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"https": "443", "wss": "443", "http": "80", "ws": "80"}
_PORT = re.compile(r"(.*?)(?::(\d+))?", re.DOTALL)


def public_url(path: str, headers: Mapping[str, str], secure: bool, configured: str | None) -> str:
    """Return the URL (https or http) of a request for `path`, with query, as its sender wrote it.

       A proxy changes scheme and host. They are taken from `configured`, the server's public URL, if given,
    else from X-Forwarded-Proto and X-Forwarded-Host. headers: names in lower case. A forged header only
    yields a URL without a valid signature; an invalid host is ignored.
    """
    if configured is not None:
        return configured.rstrip("/") + path
    scheme = _first(headers.get("x-forwarded-proto")) or ("https" if secure else "http")
    host = _first(headers.get("x-forwarded-host"))
    if not is_host(host):
        host = headers.get("host", "")
    return f"{'https' if scheme in ('https', 'wss') else 'http'}://{host}{path}"


def is_host(text: str) -> bool:
    """Return True if the text is a host with an optional port. Else parsing of the URL might raise."""
    try:
        parts = urlsplit(f"http://{text}")
        named = parts.netloc == text and parts.hostname is not None and parts.port != 0
    except ValueError:
        return False
    return named and text.isascii() and text.isprintable() and " " not in text


def websocket_url(url: str) -> str:
    """Return the URL with wss for https, ws for http."""
    return "ws" + url.removeprefix("http")


def with_and_without_port(url: str) -> tuple[str, str]:
    """Return the URL with its port (the scheme's default if it has none), and without.

    Providers disagree about whether they sign the port.
    """
    parts = urlsplit(url)
    host, port = _PORT.fullmatch(parts.netloc).groups()  # type: ignore[union-attr]  # it matches any text
    port = port or _DEFAULT_PORTS.get(parts.scheme, "80")
    return parts._replace(netloc=f"{host}:{port}").geturl(), parts._replace(netloc=host).geturl()


def _first(value: str | None) -> str:
    """Return the first of several proxies' values."""
    return (value or "").partition(",")[0].strip()
