"""MCP servers for tests, by the `mcp` SDK's own server, each in a process of its own.

As a program: `python mcp_servers.py stdio`, or `shop` and the descriptor of a socket that listens.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

orders: list[str] = []
shop = MCPServer("shop", log_level="CRITICAL")


@shop.tool(annotations=ToolAnnotations(read_only_hint=True))
async def weather(city: str, unit: str = "C") -> str:
    """Tells the weather of a city."""
    return f"sunny in {city}, 20 {unit}"


@shop.tool()
async def order(what: str) -> str:
    """Orders something."""
    orders.append(what)
    return f"{len(orders)} ordered: {what}"


@shop.tool(annotations=ToolAnnotations(read_only_hint=True))
async def sell_out() -> str:
    """Fails."""
    raise ValueError("sold out")


@shop.tool()
async def hang() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@shop.tool()
async def count(seconds: float) -> str:
    """Takes so long, and hears nothing meanwhile."""
    time.sleep(seconds)  # noqa: ASYNC251  as programs do that are badly written
    return "counted"


@shop.tool()
async def recite(characters: int) -> str:
    """Gives so many characters."""
    return "x" * characters


@shop.tool()
async def die() -> str:
    """Ends the server."""
    os._exit(1)


@shop.tool()
async def restock(context: Context) -> str:
    """Add a tool, and say so."""
    shop.add_tool(order, name="order_tea")
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return "done"


@shop.resource("kb://search/{words}")
async def search(words: str) -> str:
    """Finds what a manual says of some words."""
    return f"the manual on {words}: open from seven"


async def elsewhere(_: object) -> Response:
    """Sends everybody to an address of the cloud."""
    return RedirectResponse("http://169.254.169.254/latest/meta-data/", 307)


async def admin(_: object) -> Response:
    """Sends everybody to another path of this server."""
    return RedirectResponse("/secret", 307)


class OfOldProtocols:
    """Has never heard of `server/discover`, with which connections begin from protocol 2026-07-28 on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        if b"server/discover" in body:
            await Response("there is no such method", 400)(scope, receive, send)
            return
        told = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Message:
            return next(told, None) or await receive()

        await self._app(scope, again, send)


class WithoutWords:
    """Answers "bad request" without details for a session that it has forgotten."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_bad(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 404:
                message["status"] = 400
            await send(message)

        await self._app(scope, receive, send_bad)


def main() -> None:
    """Serve until killed: the shop, `crowd`, which has too many tools, `old`, whose protocol is 2025's, or
    `bad_request`, which is old and answers 400 where others answer 404.
    """
    kind = sys.argv[1]
    if kind == "stdio":
        shop.run("stdio")
        return
    served = shop
    if kind == "crowd":
        served = MCPServer("crowd", log_level="CRITICAL")
        for number in range(1_001):
            served.add_tool(order, name=f"order_{number}")
    app = served.streamable_http_app()
    app.router.routes.append(Route("/elsewhere", elsewhere, methods=["GET", "POST"]))
    app.router.routes.append(Route("/admin", admin, methods=["GET", "POST"]))
    if kind in ("old", "bad_request"):
        app.add_middleware(OfOldProtocols)
    if kind == "bad_request":
        app.add_middleware(WithoutWords)
    uvicorn.run(app, fd=int(sys.argv[2]), log_level="critical")


@asynccontextmanager
async def mcp_server(
    kind: str = "shop", port: int = 0
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A server's address, as `http://127.0.0.1:9000`, and its process, which answers from the beginning: its
    start takes longer on a loaded machine than a client waits.
    """
    listening = socket.create_server(("127.0.0.1", port))
    with listening:
        port = listening.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, kind, str(listening.fileno()), pass_fds=[listening.fileno()]
        )
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /started HTTP/1.0\r\n\r\n")
        await reader.read()
        writer.close()
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


if __name__ == "__main__":
    main()
