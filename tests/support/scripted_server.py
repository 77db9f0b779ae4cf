"""A server on a free port of the loopback, with scripted calls behind it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from scripted_call import ScriptedCall
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from voiceagent.session.call import Client
from voiceagent.transports.uvicorn_internals import FastPath

MAX_MESSAGE_BYTES = 65_536


class ScriptedServer:
    """prepare: fields of each call, or CallRefused."""

    def __init__(self, prepare: Callable[[], dict[str, Any]]) -> None:
        self.calls: list[ScriptedCall] = []
        self._prepare = prepare
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]

    @property
    def call(self) -> ScriptedCall:
        """The newest call."""
        return self.calls[-1]

    def open_call(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        """What the server's ends open their calls with."""
        call = ScriptedCall(call_id, client, model, **self._prepare())
        self.calls.append(call)
        return call

    @asynccontextmanager
    async def serving(self, routes: list[BaseRoute], send_buffer_bytes: int) -> AsyncIterator[None]:
        """Serve for the length of the block. A peer that does not read fills our queue, not the kernel's."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        config = uvicorn.Config(
            Starlette(routes=routes),
            ws=FastPath,
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,
            lifespan="off",
            log_level="warning",
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([self._socket]))
        try:
            while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
                await asyncio.sleep(0.005)
            yield
        finally:
            server.should_exit = True
            await task
            self._socket.close()
