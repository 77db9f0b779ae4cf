"""HTTP and WebSocket: uvicorn, for connections that it accepts itself and for those that are handed to it."""

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
"""How often clients are asked whether they are still there."""
PONG_S = 20.0
"""How long they may take to answer: a phone bridge, a browser or a network that stands still for 15 s goes on
with its call. Who is gone without a word has his slot as long.
"""
CLOSE_S = 5.0
"""How long connections may take to close once their calls have ended."""
DATE_S = 1.0
"""How often the date that answers carry is renewed."""


class Http(uvicorn.Server):
    """uvicorn without its own signal handlers, which would cut the calls off."""

    def __init__(self, app: Starlette, max_message_bytes: int, limits: TransportLimits) -> None:
        config = uvicorn.Config(
            _for_hosts(app),
            http=guarded_http(limits),
            ws=FastPath,
            proxy_headers=False,  # `access.requester` knows whose word to take
            ws_max_size=max_message_bytes,
            ws_ping_interval=PING_S,
            ws_ping_timeout=PONG_S,
            ws_per_message_deflate=False,  # sound does not compress, and trying costs time
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=round(CLOSE_S),
        )
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no more connections, and end when those that there are have closed."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """As uvicorn's, but told when to stop: looking ten times a second is most of what an idle process
        costs."""
        while not await self.on_tick(0):  # 0: with the date, which is in all answers
            with suppress(TimeoutError):
                async with asyncio.timeout(until_multiple_s(DATE_S, time.monotonic())):
                    await self._stopping.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield

    async def take(self, connection: socket.socket) -> asyncio.BaseTransport:
        """Serve a connection that was accepted elsewhere. Raises OSError."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(self._protocol, connection)
        return transport

    def _protocol(self) -> asyncio.Protocol:
        """What `uvicorn.Server.startup` makes for each connection."""
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state={}
        )


def _for_hosts(app: ASGIApp) -> ASGIApp:
    """The application, but refusing requests whose Host is no host (RFC 9112, section 3.2): to read a URL
    that is made of such a one raises."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        host = next((value for name, value in scope.get("headers", ()) if name == b"host"), b"localhost")
        if is_host(host.decode("latin-1")):
            await app(scope, receive, send)
        else:
            await PlainTextResponse("the Host of the request is none", 400)(scope, receive, send)

    return checked
