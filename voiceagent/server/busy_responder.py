"""Answers connections in the supervisor while no worker can accept them."""

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
"""Maximum open connections; the oldest is closed beyond that."""


class BusyResponder:
    """Answers health checks, and refuses calls, over HTTP by `app`; closes all other connections."""

    def __init__(self, app: Starlette, max_message_bytes: int, limits: TransportLimits) -> None:
        self._http = Http(app, max_message_bytes, limits)
        self._answered: deque[asyncio.BaseTransport] = deque()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Serve until `stop`."""
        await self._http.serve([])

    def stop(self) -> None:
        """End once the open connections have closed."""
        self._http.stop()

    def answer(self, connection: socket.socket, purpose: bytes) -> None:
        """Answer a connection. purpose: as in `call_worker`."""
        if purpose != HTTP:
            connection.close()
            return
        connection.setblocking(False)
        answering = asyncio.create_task(self._serve_connection(connection))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the client is gone
            self._answered.append(await self._http.take(connection))
        while len(self._answered) > CONNECTIONS:
            cast("asyncio.WriteTransport", self._answered.popleft()).abort()
