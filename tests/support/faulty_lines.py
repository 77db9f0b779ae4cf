"""Networks between caller and server that lose, repeat, mix up, delay and interrupt what goes over them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class FaultyLine:
    """Faults of a line for each packet; pieces of a byte stream can only be delayed.

    lost, repeated: shares of the packets. delay_s: drawn anew for each packet, which mixes up their order.
    away: everything is lost.
    """

    lost: float = 0.0
    repeated: float = 0.0
    delay_s: tuple[float, float] = (0.0, 0.0)
    away: bool = False
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def delays_s(self) -> list[float]:
        """Return the delays of the packet's copies: none, one, or two."""
        if self.away or self.chance.random() < self.lost:
            return []
        copies = 2 if self.chance.random() < self.repeated else 1
        return [self.chance.uniform(*self.delay_s) for _ in range(copies)]


Receive = Callable[[], Awaitable[bytes]]
Send = Callable[[bytes], Awaitable[None]]


class FaultyPackets:
    """Both ways of the packets of one call over WebRTC, in place of those of its ICE transport."""

    def __init__(self, line: FaultyLine, send: Send, receive: Receive) -> None:
        self._line = line
        self._send, self._receive = send, receive
        self._arrived: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self._tasks = {asyncio.create_task(self._pump())}

    async def send(self, data: bytes) -> None:
        """Send a packet, some time."""
        for delay_s in self._line.delays_s():
            self._later(delay_s, self._pass_on, data)

    async def receive(self) -> bytes:
        """The next packet that arrives."""
        arrived = await self._arrived.get()
        if isinstance(arrived, Exception):
            self._arrived.put_nowait(arrived)
            raise arrived
        return arrived

    async def _pump(self) -> None:
        try:
            while True:
                data = await self._receive()
                for delay_s in self._line.delays_s():
                    self._later(delay_s, self._arrived.put, data)
        except ConnectionError as gone:
            self._arrived.put_nowait(gone)

    async def _pass_on(self, data: bytes) -> None:
        with suppress(ConnectionError):
            await self._send(data)

    def _later(self, delay_s: float, arrive: Send, data: bytes) -> None:
        async def wait() -> None:
            await asyncio.sleep(delay_s)
            await arrive(data)  # made only now: a call may end before

        task = asyncio.create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@asynccontextmanager
async def faulty_way(address: str, line: FaultyLine) -> AsyncIterator[str]:
    """Another address of a TCP server, over the line: pieces are late, and wait while it is away."""
    host, _, port = address.partition(":")
    tasks: set[asyncio.Task[None]] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                while line.away:  # noqa: ASYNC110  the test's line is no event
                    await asyncio.sleep(0.02)
                await asyncio.sleep(line.chance.uniform(*line.delay_s))
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        for way in (carry(reader, there_writer), carry(there_reader, writer)):
            tasks.add(asyncio.create_task(way))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
