"""WebSocket connections to remote engines."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from audio.hosted.server import RETRIED_STATUSES, HostedServer, describe_error, describe_response

_CLOSE_TIMEOUT_S = 1.0
"""Timeout of the closing handshake."""
_MAX_MESSAGE_BYTES = 1 << 22


class ConnectionLost(Exception):
    """There is no connection, or it was lost; a retry may help. The message names the cause."""


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
