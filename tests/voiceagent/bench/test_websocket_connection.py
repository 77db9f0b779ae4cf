"""A caller over a WebSocket."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.bench.crowd import ServerBusy
from voiceagent.bench.websocket_connection import WebSocketConnection
from voiceagent.bench.wires import RealtimeWire, TwilioWire
from voiceagent.validation.errors import CommandFailed


class ClosedTransport(asyncio.Transport):
    """Takes what is written until it is closed, and raises then, as uvloop's does."""

    closed = False

    def write(self, data: object) -> None:
        if self.closed:
            raise RuntimeError("unable to perform operation on a closed transport")


async def test_a_caller_whose_server_is_gone_says_nothing_more() -> None:
    connection = WebSocketConnection(RealtimeWire(0.2), "localhost", lambda: 0.0)
    transport = ClosedTransport()
    connection.connection_made(transport)
    connection.opened.set_result(None)
    transport.closed = True
    connection.connection_lost(ConnectionResetError("reset"))
    connection.send(b"sound")
    assert connection.failure == "the connection was lost: reset"


async def test_a_server_that_refuses_a_phone_call_is_told_with_the_table_it_needs() -> None:
    connection = WebSocketConnection(TwilioWire(), "localhost", lambda: 0.0)
    connection.data_received(b"HTTP/1.1 403 Forbidden\r\n\r\n")
    with pytest.raises(CommandFailed, match=r"HTTP/1\.1 403 Forbidden: it needs \[telephony\.twilio\]"):
        await connection.opened


async def test_a_server_that_cannot_take_a_phone_call_now_lacks_no_table() -> None:
    connection = WebSocketConnection(TwilioWire(), "localhost", lambda: 0.0)
    connection.data_received(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 8\r\n\r\nstarting")
    with pytest.raises(ServerBusy, match=r"503 Service Unavailable: starting$"):
        await connection.opened


async def test_why_a_call_is_refused_is_read_to_its_end() -> None:
    connection = WebSocketConnection(RealtimeWire(0.2), "localhost", lambda: 0.0)
    connection.data_received(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 10\r\n\r\nbusy: ")
    assert not connection.opened.done()
    connection.data_received(b"full")
    with pytest.raises(ServerBusy, match="503 Service Unavailable: busy: full"):
        await connection.opened
