"""A client of the Realtime API that attacks a server and records the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from attacked_server import AttackedServer
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

PATIENCE_S = 30.0


class Attacker:
    """A client that records errors, and the types of all other events."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.errors: list[dict[str, Any]] = []
        self.kinds: list[str] = []
        self._came = asyncio.Event()

    async def read(self) -> None:
        try:
            async for message in self.connection:
                event = json.loads(message)
                self.kinds.append(event["type"])
                if event["type"] == "error":
                    self.errors.append(event["error"])
                self._came.set()
        except ConnectionClosed:
            pass
        self._came.set()

    async def refused(self) -> dict[str, Any]:
        """Return the first error."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.errors:
                self._came.clear()
                await self._came.wait()
        return self.errors[0]

    async def until(self, kind: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while kind not in self.kinds:
                self._came.clear()
                await self._came.wait()


@asynccontextmanager
async def attacking(server: AttackedServer) -> AsyncIterator[Attacker]:
    async with server.call() as connection:
        attacker = Attacker(connection)
        reading = asyncio.create_task(attacker.read())
        try:
            yield attacker
        finally:
            await connection.close()  # while `read` runs: the close frame follows earlier events
            await reading
