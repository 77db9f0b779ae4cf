"""A caller over a WebSocket."""

from __future__ import annotations

import asyncio

from voiceagent.bench.websocket_connection import WebSocketConnection
from voiceagent.bench.wires import RealtimeWire


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
