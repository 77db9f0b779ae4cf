"""A client that stands still, or this process did: who is given up, when, and in which words."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from prompt_server import PromptServer
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.frames import Frame, Opcode

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.uvicorn_internals import EXTENSION, FastPath
from voiceagent.transports.websocket import WebSocketWire

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
PIECE = "x" * 65_536


class Served:
    """A server of one connection. path: its way through uvicorn. ended: how its client went. client: its
    socket.
    """

    client: socket.socket

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
async def standing_still(ping_timeout_s: float, ping_interval_s: float = 0.05) -> AsyncIterator[Served]:
    """A client that neither reads nor sends any more of itself once its connection is open."""
    served = Served()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/", served.serve)]),
        ws=FastPath,
        ws_ping_interval=ping_interval_s,
        ws_ping_timeout=ping_timeout_s,
        lifespan="off",
        log_level="critical",
    )
    server = PromptServer(config)
    serving = asyncio.create_task(server.serve([listening]))
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(HANDSHAKE)
        client.setblocking(False)
        served.client = client
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


async def test_the_newest_ping_of_a_client_that_did_not_read_is_answered_when_it_does() -> None:
    loop = asyncio.get_running_loop()
    async with standing_still(60.0, 60.0) as served, asyncio.timeout(20):
        path = await served.path
        while path.writable.is_set():
            path.send_now(PIECE)
        for said in (b"1st", b"2nd", b"3rd"):
            await loop.sock_sendall(served.client, Frame(Opcode.PING, said).serialize(mask=True))
        await asyncio.sleep(0.2)  # they are read, and nothing tells of it
        read, pong = b"", Frame(Opcode.PONG, b"3rd").serialize(mask=False)
        while pong not in read[-200_000:]:
            read += await loop.sock_recv(served.client, 65_536)
        assert (b"1st" in read, b"2nd" in read) == (False, False)


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
