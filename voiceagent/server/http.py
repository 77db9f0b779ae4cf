"""HTTP and WebSocket by uvicorn, for connections that it accepts itself or receives from a supervisor."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from voiceagent.processes.rounds import until_multiple_s
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.telephony.stream.public_url import is_host
from voiceagent.transports.uvicorn_http_internals import guarded_http
from voiceagent.transports.uvicorn_internals import FastPath

PING_S = 5.0
"""Interval of WebSocket pings."""
PONG_S = 20.0
"""Timeout of a ping: a phone bridge, a browser or a network that stalls for 15 s can resume its call. A
client that vanishes silently keeps its slot for that time.
"""
CLOSE_S = 5.0
"""Time that connections have to close once their calls have ended."""
DATE_S = 1.0
"""Interval at which the Date header is renewed."""


class Http(uvicorn.Server):
    """uvicorn without its own signal handlers, which would cut calls off."""

    def __init__(self, app: Starlette, max_message_bytes: int, limits: TransportLimits) -> None:
        config = uvicorn.Config(
            _for_hosts(app),
            http=guarded_http(limits),
            ws=FastPath,
            proxy_headers=False,  # `access.requester` knows whose word to take
            ws_max_size=max_message_bytes,
            ws_ping_interval=PING_S,
            ws_ping_timeout=PONG_S,
            ws_per_message_deflate=False,  # compression costs time and does not help audio
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=round(CLOSE_S),
        )
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Stop accepting connections, and end once the open ones have closed."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Run like uvicorn's loop, but wait for an event to stop: polling ten times a second is most of the
        CPU use of an idle process.
        """
        while not await self.on_tick(0):  # 0: renew the Date header
            with suppress(TimeoutError):
                async with asyncio.timeout(until_multiple_s(DATE_S, time.monotonic())):
                    await self._stopping.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def take(self, connection: socket.socket) -> asyncio.BaseTransport:
        """Serve a connection that was accepted elsewhere. Raises OSError."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(self._protocol, connection)
        return transport

    def _protocol(self) -> asyncio.Protocol:
        """Return a protocol as `uvicorn.Server.startup` creates one per connection."""
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state={}
        )


def _for_hosts(app: ASGIApp) -> ASGIApp:
    """Wrap the application to refuse requests with an invalid Host (RFC 9112, section 3.2): Starlette raises
    when it builds a URL from one.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        host = next((value for name, value in scope.get("headers", ()) if name == b"host"), b"localhost")
        if is_host(host.decode("latin-1")):
            await app(scope, receive, send)
        else:
            await PlainTextResponse("the Host of the request is none", 400)(scope, receive, send)

    return checked
