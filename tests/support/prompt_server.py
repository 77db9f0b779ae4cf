"""A server in the process of its test that ends as soon as it is told to."""

from __future__ import annotations

import asyncio
from socket import socket

import uvicorn

_LOOK_S = 0.005


class PromptServer(uvicorn.Server):
    """uvicorn without its waits: it looks every 0.1 s whether to end, and then waits for 0.1 s more, which is
    most of the time of a test that starts one.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        self._ends = False
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """True from when the server is to end. May be set by any thread."""
        return self._ends

    @should_exit.setter
    def should_exit(self, ends: bool) -> None:
        self._ends = ends
        if ends and self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        """Serve until `should_exit`."""
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)  # 0: the Date header
        if not self._ends:
            await self._ending.wait()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Close all connections, and cancel what runs longer than `timeout_graceful_shutdown`."""
        for listening in self.servers:
            listening.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while (state.connections or state.tasks) and not self.force_exit:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            for task in state.tasks:
                task.cancel()
        await self.lifespan.shutdown()
