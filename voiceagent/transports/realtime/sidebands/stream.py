"""A stream between two processes in the role of a sideband's WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.realtime.sidebands.messages import Closed, Relayed

MAX_QUEUED = 16
"""Maximum number of events queued for the stream; more wait in the outbox, which is bounded."""


class StreamWire:
    """A `Wire`. messages: from the client; their end means that the client has disconnected."""

    paces = True

    def __init__(self, messages: AsyncIterator[str | bytes]) -> None:
        self._messages = messages
        self._sent: asyncio.Queue[Relayed | None] = asyncio.Queue(MAX_QUEUED)

    async def sent(self) -> AsyncGenerator[Relayed, None]:
        """Yield the sent values, until `end`."""
        while (value := await self._sent.get()) is not None:
            yield value

    async def end(self) -> None:
        """Finish the stream: `sent` returns."""
        await self._sent.put(None)

    async def open(self) -> None:
        """Do nothing: the stream is open."""

    async def receive(self) -> str | bytes:
        """Return the client's next message."""
        async for message in self._messages:
            return message
        raise Disconnected("the client left")

    async def send(self, message: str) -> None:
        """Send an event. Waits while the queue to the other process is full."""
        await self._sent.put(message)

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[str], bool] | None:
        """Return None: there is no fast path."""
        return None

    def close_fast_path(self) -> None:
        """Do nothing: there is no fast path."""

    async def close(self, code: int, reason: str) -> None:
        """Make the other process close the connection."""
        await self._sent.put(Closed(code, reason))
