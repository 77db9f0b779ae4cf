"""A server on a free port of the loopback, with scripted calls behind it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from prompt_server import PromptServer
from scripted_call import ScriptedCall
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from voiceagent.access.calls import OpenedCall
from voiceagent.session.call import Client
from voiceagent.session.call_clients import CallClients
from voiceagent.transports.uvicorn_internals import FastPath

MAX_MESSAGE_BYTES = 65_536


class ScriptedServer:
    """prepare: fields of each call, or CallRefused."""

    def __init__(self, prepare: Callable[[], dict[str, Any]]) -> None:
        self.calls: list[ScriptedCall] = []
        self._opened: dict[str, OpenedCall] = {}
        self._prepare = prepare
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]

    @property
    def call(self) -> ScriptedCall:
        """The newest call."""
        return self.calls[-1]

    def open_call(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        """Open a call as the server's transports do."""
        clients = CallClients(client)
        call = ScriptedCall(call_id, clients, model, **self._prepare())
        self.calls.append(call)
        self._opened[call_id] = OpenedCall(call, clients, call.settings, time.time())
        return call

    def open_unstored(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        """Open a call that must not be kept, like `open`."""
        call = self.open_call(call_id, client, model)
        call.stored = False
        return call

    def open_transcription(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        """Open a call that only transcribes, like `open`."""
        call = self.open_call(call_id, client, model)
        call.settings = call.settings.as_transcription()
        return call

    def find(self, call_id: str) -> OpenedCall | None:
        """Return the call with this id."""
        return self._opened.get(call_id)

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
        server = PromptServer(config)
        task = asyncio.create_task(server.serve([self._socket]))
        try:
            while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
                await asyncio.sleep(0.005)
            yield
        finally:
            for call in self.calls:  # one that waits for its client to resume it would hold up the end
                call.over.set()
            server.should_exit = True
            await task
            self._socket.close()
