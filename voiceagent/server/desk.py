"""Who answers connections of a server of many processes while no worker can take them."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import suppress
from typing import cast

from starlette.applications import Starlette

from voiceagent.server.call_worker import HTTP
from voiceagent.server.http import Http
from voiceagent.transports.limits import TransportLimits

CONNECTIONS = 32
"""How many connections may be open at once; beyond that the oldest is closed."""


class Desk:
    """Tells health, and that calls are refused, over HTTP, by `app`; any other connection is closed."""

    def __init__(self, app: Starlette, max_message_bytes: int, limits: TransportLimits) -> None:
        self._http = Http(app, max_message_bytes, limits)
        self._answered: deque[asyncio.BaseTransport] = deque()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Be there until `stop`."""
        await self._http.serve([])

    def stop(self) -> None:
        """End when the connections that there are have closed."""
        self._http.stop()

    def answer(self, connection: socket.socket, purpose: bytes) -> None:
        """Take a connection, and what it came for."""
        if purpose != HTTP:
            connection.close()
            return
        connection.setblocking(False)
        answering = asyncio.create_task(self._serve_connection(connection))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        with suppress(OSError):  # whoever called has gone meanwhile
            self._answered.append(await self._http.take(connection))
        while len(self._answered) > CONNECTIONS:
            cast("asyncio.WriteTransport", self._answered.popleft()).abort()
