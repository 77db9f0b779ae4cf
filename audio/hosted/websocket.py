"""A WebSocket to a server that hears or speaks: opened within the engine's time limits, let go politely."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from audio.hosted.server import RETRIED_STATUSES, HostedServer, reason_of, told

_GOODBYE_S = 1.0
"""How long a server may take to close."""
_MAX_MESSAGE_BYTES = 1 << 22


class ConnectionLost(Exception):
    """There is no connection, or there is none any more; another try may do better. The text says why."""


async def opened(
    server: HostedServer, path: str, headers: dict[str, str], ping_s: float | None = 20.0
) -> ClientConnection:
    """A connection to `path` below the server's address.

    ping_s: how often it is asked whether it is there, and how long an answer may take: one that hangs
    is lost; None where whoever opens it asks himself. Raises ConnectionLost, or the engine's own error where
    another try would do no better.
    """
    url = server.base_url.replace("http", "ws", 1) if server.base_url.startswith("http") else server.base_url
    try:
        return await connect(
            f"{url.rstrip('/')}/{path}",
            additional_headers=headers,
            open_timeout=server.connect_timeout_s,
            ping_interval=ping_s,
            ping_timeout=ping_s,
            close_timeout=_GOODBYE_S,
            compression=None,  # sound does not get smaller by it
            max_size=_MAX_MESSAGE_BYTES,
        )
    except InvalidStatus as error:
        reason = told(error.response.status_code, bytes(error.response.body).decode(errors="replace"))
        if error.response.status_code in RETRIED_STATUSES:
            raise ConnectionLost(reason) from error
        raise server.failed(reason) from error
    except (OSError, InvalidHandshake) as error:  # a time-out is an OSError
        raise ConnectionLost(reason_of(error)) from error


async def say_goodbye(connection: ClientConnection, *last: str) -> None:
    """Send what the server wants to hear last, and close; one that is gone already is none."""
    with suppress(ConnectionClosed, TimeoutError):
        async with asyncio.timeout(_GOODBYE_S):
            for message in last:
                await connection.send(message)
    await connection.close()
