"""MCP servers for tests, by the `mcp` SDK's own server, each in a process of its own.

As a program: `python mcp_servers.py stdio`, or `shop` and the descriptor of a socket that listens.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

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
async def recite(characters: int) -> str:
    """Gives so many characters."""
    return "x" * characters


@shop.tool()
async def die() -> str:
    """Ends the server."""
    os._exit(1)


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


def main() -> None:
    """Serve until killed: the shop, or `crowd`, which has too many tools."""
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
    uvicorn.run(app, fd=int(sys.argv[2]), log_level="critical")


@asynccontextmanager
async def mcp_server(
    kind: str = "shop", port: int = 0
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A server's address, as `http://127.0.0.1:9000`, and its process. It listens from the beginning."""
    listening = socket.create_server(("127.0.0.1", port))
    with listening:
        port = listening.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, kind, str(listening.fileno()), pass_fds=[listening.fileno()]
        )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


if __name__ == "__main__":
    main()
