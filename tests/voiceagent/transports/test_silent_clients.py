"""A client that stands still, or this process did: who is given up, when, and in which words."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.uvicorn_internals import EXTENSION, FastPath
from voiceagent.transports.websocket import WebSocketWire

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
PIECE = "x" * 65_536


class Served:
    """A server of one connection. path: its way through uvicorn. ended: how its client went."""

    def __init__(self) -> None:
        self.path: asyncio.Future[FastPath] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serve(self, websocket: WebSocket) -> None:
        wire = WebSocketWire(websocket)
        await wire.open()
        self.path.set_result(websocket.scope["extensions"][EXTENSION])
        try:
            await wire.receive()
        except Disconnected as gone:
            self.ended.set_result(str(gone))


@asynccontextmanager
async def standing_still(ping_timeout_s: float) -> AsyncIterator[Served]:
    """A client that neither reads nor sends any more once its connection is open."""
    served = Served()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/", served.serve)]),
        ws=FastPath,
        ws_ping_interval=0.05,
        ws_ping_timeout=ping_timeout_s,
        lifespan="off",
        log_level="critical",
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listening]))
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(HANDSHAKE)
        yield served
    server.should_exit = True
    await serving


async def test_a_client_that_answers_no_ping_is_given_up_and_named() -> None:
    async with standing_still(0.1) as served:
        assert "answered no ping" in await asyncio.wait_for(served.ended, 20)


async def test_a_client_that_reads_nothing_either_does_not_keep_its_call() -> None:
    async with standing_still(0.3) as served:
        path = await served.path
        while path.writable.is_set():
            path.send_now(PIECE)
        assert "answered no ping" in await asyncio.wait_for(served.ended, 20)


@pytest.mark.parametrize(("overslept_s", "given_up"), [(10.0, False), (0.0, True)])
async def test_after_a_pause_of_this_process_what_came_meanwhile_is_read_first(
    overslept_s: float, given_up: bool
) -> None:
    async with standing_still(60.0) as served:
        path = await served.path
        while path.pong_timer is None:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.01)
        path.pong_timer.cancel()
        path.ping_sent_at -= 60.0 + overslept_s
        path.keepalive_timeout()
        assert (path.close_sent, path.ping_timer is None) == (given_up, given_up)
