"""Messages between a connection and its call in another process. The values are pickled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.websocket import ABNORMAL_CLOSURE, WebSocketWire

MAX_QUEUED = 16
"""Maximum number of messages queued for the stream; more wait in the outbox, which is bounded."""


class Accepted(NamedTuple):
    """The call takes the connection: its messages follow."""


class Closed(NamedTuple):
    """The connection ends, with this WebSocket close code."""

    code: int
    reason: str


FromClient = str | bytes | Closed
"""A message of the client, or at last the end of its connection."""


class StreamWire:
    """A `Wire` at the call's end. messages: the client's; their end means that it has disconnected."""

    paces = True

    def __init__(self, messages: AsyncIterator[FromClient]) -> None:
        self._messages = messages
        self._sent: asyncio.Queue[Any] = asyncio.Queue(MAX_QUEUED)

    async def sent(self) -> AsyncGenerator[Any, None]:
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
            if not isinstance(message, Closed):
                return message
            lost = message.code == ABNORMAL_CLOSURE
            raise Disconnected(message.reason, "connection_lost" if lost else "caller_hung_up")
        raise Disconnected("the client left")

    async def send(self, message: str | bytes) -> None:
        """Send a message. Waits while the queue to the other process is full."""
        await self._sent.put(message)

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[str | bytes], bool] | None:
        """Return None: there is no fast path."""
        return None

    def close_fast_path(self) -> None:
        """Do nothing: there is no fast path."""

    async def close(self, code: int, reason: str) -> None:
        """Make the other process close the connection."""
        await self._sent.put(Closed(code, reason))


async def serve_relayed(
    messages: AsyncIterator[FromClient], carry: Callable[[StreamWire], Awaitable[None]], name: str
) -> AsyncGenerator[Any, None]:
    """Take a connection of another process: yield `Accepted`, and then what `carry` sends on it. name: of the
    task that runs `carry`.
    """
    wire = StreamWire(messages)

    async def run() -> None:
        try:
            await carry(wire)
        finally:
            await wire.end()

    yield Accepted()
    carrying = asyncio.create_task(run(), name=name)
    try:
        async for value in wire.sent():
            yield value
    finally:
        carrying.cancel()
        await asyncio.wait([carrying])


async def client_messages(wire: WebSocketWire, accepted: asyncio.Event) -> AsyncIterator[FromClient]:
    """Yield a connection's messages, and at last its end, for the call in the other process. accepted: set
    once that has taken the connection.
    """
    await accepted.wait()
    try:
        while True:
            yield await wire.receive()
    except Disconnected as gone:
        lost = gone.end_code == "connection_lost"
        yield Closed(ABNORMAL_CLOSURE if lost else 1000, str(gone))


async def send_values(wire: WebSocketWire, values: AsyncIterator[object]) -> None:
    """Send the messages of the call in the other process, and close the connection when it does."""
    async for value in values:
        if isinstance(value, Closed):
            await wire.close(value.code, value.reason)
        elif isinstance(value, str | bytes):
            await wire.send(value)
