"""A stream between two processes as the wire of a sideband's connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.realtime.sidebands.messages import Closed, Relayed

MAX_QUEUED = 16
"""Events that wait for the stream; those behind them wait in the outbox, which is bounded."""


class StreamWire:
    """A `Wire`. messages: of the client, who has gone when they end."""

    paces = True

    def __init__(self, messages: AsyncIterator[str | bytes]) -> None:
        self._messages = messages
        self._sent: asyncio.Queue[Relayed | None] = asyncio.Queue(MAX_QUEUED)

    async def sent(self) -> AsyncGenerator[Relayed, None]:
        """Yield what is sent, until `end`."""
        while (value := await self._sent.get()) is not None:
            yield value

    async def end(self) -> None:
        """Let `sent` end."""
        await self._sent.put(None)

    async def open(self) -> None:
        """It is open."""

    async def receive(self) -> str | bytes:
        """The client's next message."""
        async for message in self._messages:
            return message
        raise Disconnected("the client left")

    async def send(self, message: str) -> None:
        """Send an event; waits while the other process has too much that is not sent on."""
        await self._sent.put(message)

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[str], bool] | None:
        """There is none."""
        return None

    def close_fast_path(self) -> None:
        """There is none."""

    async def close(self, code: int, reason: str) -> None:
        """Have the other process close the connection."""
        await self._sent.put(Closed(code, reason))
