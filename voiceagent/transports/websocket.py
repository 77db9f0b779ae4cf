"""A WebSocket served by uvicorn, as the wire of a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from voiceagent.transports.connection import Disconnected
from voiceagent.transports.uvicorn_internals import EXTENSION, SILENT, FastPath

log = structlog.get_logger()

MAX_REASON_BYTES = 120
"""Maximum length of a close frame's reason; the protocol allows 123 (RFC 6455, section 5.5)."""


def address_of(connection: HTTPConnection) -> str:
    """Return the peer's IP address, "" if unknown."""
    return connection.client.host if connection.client else ""


def websocket_routes(
    path: str, serve: Callable[[WebSocket], Awaitable[None]], posts_to: str = ""
) -> list[BaseRoute]:
    """Return the routes of a WebSocket, and of plain requests to it, which get an explanation (RFC 9110,
    15.5.22).

    posts_to: path suffix of the webhook for POST requests, "" if there is none.
    """

    async def not_upgraded(request: Request) -> Response:
        place = request.url.path
        if request.method == "POST":
            text = f"{place} is a WebSocket, for the sound of calls; the webhook is {place}{posts_to}"
            log.warning("post_to_websocket", path=place, webhook=place + posts_to)
            raise HTTPException(405, text, {"allow": "GET"})
        text = (
            f"{place} is a WebSocket, and the request does not ask for one: it has no Upgrade header, "
            "which proxies leave out where they are not told to pass it on"
        )
        raise HTTPException(426, text, {"upgrade": "websocket", "connection": "upgrade"})

    methods = ["GET", "POST"] if posts_to else ["GET"]
    return [WebSocketRoute(path, serve), Route(path, not_upgraded, methods=methods)]


ABNORMAL_CLOSURE = 1006
"""Code of a connection that ended without a close frame (RFC 6455, 7.1.5)."""


class WebSocketWire:
    """A WebSocket as a `Wire`. subprotocol: the accepted one, None for none."""

    paces = True

    def __init__(self, websocket: WebSocket, subprotocol: str | None = None) -> None:
        self._websocket = websocket
        self._subprotocol = subprotocol
        self._accepted = False
        # None unless the server runs with `uvicorn.Config(ws=FastPath)`; then ASGI's own path is used.
        self._fast_path: FastPath | None = websocket.scope.get("extensions", {}).get(EXTENSION)

    async def open(self) -> None:
        """Accept the handshake. A second call does nothing."""
        if self._accepted:
            return
        self._accepted = True
        try:
            await self._websocket.accept(self._subprotocol)
        except (WebSocketDisconnect, RuntimeError) as error:
            raise Disconnected("the client left") from error

    async def receive(self) -> str | bytes:
        """Return the next message that did not take the fast path."""
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            code = message.get("code")
            if message.get("reason") == SILENT:
                raise Disconnected(SILENT, "connection_lost")
            lost = code == ABNORMAL_CLOSURE
            raise Disconnected(f"the client left ({code})", "connection_lost" if lost else "caller_hung_up")
        text: str | None = message.get("text")
        if text is None:
            binary: bytes = message["bytes"]
            return binary
        return text

    async def send(self, message: str | bytes) -> None:
        """Send a message. Waits while the client does not read."""
        try:
            if isinstance(message, str):
                await self._websocket.send_text(message)
            else:
                await self._websocket.send_bytes(message)
        except (WebSocketDisconnect, RuntimeError) as error:  # RuntimeError: uvicorn has closed it already
            raise Disconnected("the client left") from error

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[str | bytes], bool] | None:
        """Deliver text messages in uvicorn's read callback."""
        if self._fast_path is None:
            return None
        self._fast_path.open(take)
        return self._fast_path.send_now

    def close_fast_path(self) -> None:
        """Stop delivering messages on the fast path."""
        if self._fast_path is not None:
            self._fast_path.take = None

    async def close(self, code: int, reason: str) -> None:
        """Send the close frame."""
        # limited in bytes; a character cut in two would be a protocol error
        short = reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
        try:
            await self._websocket.close(code, short)
        except (WebSocketDisconnect, RuntimeError) as error:
            raise Disconnected("the client left") from error
