"""The WebSocket end on a real server of its own, with scripted calls behind it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from scripted_call import ScriptedCall
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

from voiceagent.access.auth import ApiKeys
from voiceagent.client import Client
from voiceagent.realtime.admission import Admission
from voiceagent.realtime.websocket import RealtimeEndpoint
from voiceagent.short_way import ShortWay

MAX_MESSAGE_BYTES = 65_536
SEND_BUFFER_BYTES = 65_536


class RealtimeServer:
    """A server on a free port of the loopback. prepare: fields of each call, or CallRefused."""

    def __init__(self, keys: ApiKeys | None, prepare: Callable[[], dict[str, Any]]) -> None:
        self.calls: list[ScriptedCall] = []
        self._prepare = prepare
        self.admission = Admission(keys)
        endpoint = RealtimeEndpoint(self._open_call, self.admission)
        config = uvicorn.Config(
            Starlette(routes=[WebSocketRoute("/v1/realtime", endpoint.serve)]),
            ws=ShortWay,
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,
            lifespan="off",
            log_level="warning",
        )
        self.uvicorn = uvicorn.Server(config)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self.port = self.socket.getsockname()[1]

    @property
    def url(self) -> str:
        """Where a WebSocket client connects."""
        return f"ws://127.0.0.1:{self.port}/v1/realtime"

    @property
    def call(self) -> ScriptedCall:
        """The newest call."""
        return self.calls[-1]

    def _open_call(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        call = ScriptedCall(call_id, client, model, **self._prepare())
        self.calls.append(call)
        return call


@asynccontextmanager
async def serving(
    keys: ApiKeys | None = None, prepare: Callable[[], dict[str, Any]] = dict
) -> AsyncIterator[RealtimeServer]:
    """A server that runs for the length of the block."""
    server = RealtimeServer(keys, prepare)
    task = asyncio.create_task(server.uvicorn.serve([server.socket]))
    try:
        while not server.uvicorn.started:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield server
    finally:
        server.uvicorn.should_exit = True
        await task
        server.socket.close()
