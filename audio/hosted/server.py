"""Settings, errors, retries and WebSockets shared by remote speech-to-text and text-to-speech engines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_RETRY_S, _MAX_RETRY_S = 0.2, 3.2
"""Maximum wait before the first retry, doubled for each further one, and its upper bound."""
_MAX_MESSAGE = 200
"""Characters of the server's error message to keep."""
_TIMEOUTS = (
    (httpx2.ConnectTimeout, "connect", "no connection"),
    (httpx2.ReadTimeout, "read", "nothing came"),
    (httpx2.WriteTimeout, "write", "it took nothing"),
    (httpx2.PoolTimeout, "pool", "no connection was free"),
)
"""Timeout errors without a text of their own: class, name of the timeout in the request, description."""


@dataclass(eq=False)
class HostedServer:
    """Keyword arguments of every remote engine. Raises ValueError.

    base_url: address, including `/v1` if the server has that. api_key_env: environment variable that holds
    the key; "" for a server without one. connect_timeout_s: limit for connecting. timeout_s: limit for the
    first data, and for each next. retries: attempts after the first, while no data has arrived.

    failure: exception class of the engine's kind. in_workers: remote engines only wait for a server, so each
    worker process may have its own, and no audio crosses processes.
    """

    failure: ClassVar[type[Exception]]
    in_workers: ClassVar[bool] = True

    base_url: str
    _: KW_ONLY
    api_key_env: str
    connect_timeout_s: float = 2.0
    timeout_s: float = 8.0
    retries: int = 1

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; allowed: 0 or more")

    def key(self) -> str:
        """Return the API key; "none" for a server without one. Raises `failure` if it is not set."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            raise self.failed(f"the environment variable {self.api_key_env} (api_key_env) is not set")
        return key

    def client_options(self, headers: dict[str, str]) -> dict[str, Any]:
        """Return the keyword arguments of the httpx2 client."""
        timeout = httpx2.Timeout(self.timeout_s, connect=self.connect_timeout_s)
        return {"base_url": self.base_url, "headers": headers, "timeout": timeout}

    def failed(self, reason: str) -> Exception:
        """Return an exception that names the server. The key is masked, as servers may repeat it."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        return self.failure(f"{self.base_url}: {reason.replace(key, '***') if key else reason}")


@dataclass(eq=False)
class OpenAIServer(HostedServer):
    """A server with OpenAI's API; OpenAI's own by default."""

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"


def bearer(key: str) -> dict[str, str]:
    """Return the Authorization header."""
    return {"Authorization": f"Bearer {key}"}


def retry_wait_s(failures: int, random: Callable[[], float]) -> float:
    """Return the seconds to wait after this many consecutive failures (from 1): half to all of a doubling
    ceiling.

    random: draws from [0, 1), so that calls do not retry in step.
    """
    return min(_MAX_RETRY_S, _RETRY_S * 2.0 ** (min(failures, 10) - 1)) * (0.5 + 0.5 * random())


def describe_response(status: int, body: str) -> str:
    """Format an HTTP error response."""
    return f"{status}: {body[:_MAX_MESSAGE]}"


def describe_error(error: Exception) -> str:
    """Describe a connection error; for a timeout, the operation and its limit."""
    for kind, name, waited_for in _TIMEOUTS:
        if isinstance(error, kind):
            return f"{waited_for} within {error.request.extensions['timeout'][name]:g} s"
    return str(error) or type(error).__name__


_CLOSE_TIMEOUT_S = 1.0
"""Timeout of the closing handshake."""
_MAX_MESSAGE_BYTES = 1 << 22


class ConnectionLost(Exception):
    """The connection failed or was lost; a retry may help. The message names the cause."""


async def open_websocket(
    server: HostedServer, path: str, headers: dict[str, str], ping_s: float | None = 20.0
) -> ClientConnection:
    """Connect to `path` below the server's address.

    ping_s: interval and timeout of pings, which detect dead connections; None if the caller sends its own.
    Raises ConnectionLost, or the engine's own error if a retry would not help.
    """
    url = server.base_url.replace("http", "ws", 1) if server.base_url.startswith("http") else server.base_url
    try:
        return await connect(
            f"{url.rstrip('/')}/{path}",
            additional_headers=headers,
            open_timeout=server.connect_timeout_s,
            ping_interval=ping_s,
            ping_timeout=ping_s,
            close_timeout=_CLOSE_TIMEOUT_S,
            compression=None,  # audio does not compress
            max_size=_MAX_MESSAGE_BYTES,
        )
    except InvalidStatus as error:
        reason = describe_response(
            error.response.status_code, bytes(error.response.body).decode(errors="replace")
        )
        if error.response.status_code in RETRIED_STATUSES:
            raise ConnectionLost(reason) from error
        raise server.failed(reason) from error
    except (OSError, InvalidHandshake) as error:  # TimeoutError is an OSError
        raise ConnectionLost(describe_error(error)) from error


async def close_websocket(connection: ClientConnection, *last: str) -> None:
    """Send the protocol's last messages and close. A connection that is gone already is no error."""
    with suppress(ConnectionClosed, TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            for message in last:
                await connection.send(message)
    await connection.close()
