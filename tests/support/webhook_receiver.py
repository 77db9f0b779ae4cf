"""The receiver of `[webhooks]`: records requests, and answers as a test chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE_S = 20.0


@dataclass
class Receiver:
    """A server that answers with these statuses, then 204; None hangs. posted: body and headers of each."""

    statuses: list[int | None] = field(default_factory=list)
    posted: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self.came = asyncio.Event()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body, _ in self.posted]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.posted.append((body, headers))
        self.came.set()
        status = self.statuses.pop(0) if self.statuses else 204
        if status is not None:
            writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        else:
            await reader.read()
        writer.close()

    async def until(self, number: int) -> None:
        """Wait for so many; the time-out only ends a test that hangs."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.posted) < number:
                self.came.clear()
                await self.came.wait()


@asynccontextmanager
async def receiving(*statuses: int | None) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(statuses))
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/calls"
    try:
        yield receiver
    finally:
        server.close()
