"""An MCP server that does harm: each path is another kind of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from prompt_server import PromptServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

TOOL = {"name": "weather", "description": "Tells the weather.", "inputSchema": {"type": "object"}}


def result(request_id: object, **fields: Any) -> Response:
    """An answer of JSON-RPC."""
    return JSONResponse({"jsonrpc": "2.0", "id": request_id, "result": fields})


async def take(request: Request) -> Response:
    """One request to the kind of server that the path names."""
    kind = request.path_params["kind"]
    if kind == "redirect":
        return RedirectResponse("http://169.254.169.254/latest/meta-data/", 307)
    if kind == "garbage":
        return Response(b"\x00\xff{" * 1000, media_type="application/json")
    if kind == "flood":
        return StreamingResponse(_flood(), media_type="text/event-stream")
    body = await request.json()
    if "id" not in body:
        if kind == "deaf" and body["method"] == "notifications/cancelled":
            await asyncio.Event().wait()
        return Response(status_code=202)
    return await _answer(kind, body)


async def _answer(kind: str, body: dict[str, Any]) -> Response:
    match body["method"], kind:
        case "initialize", _:
            version = body["params"]["protocolVersion"]
            about = {"name": "hostile", "version": "1"}
            capabilities = {"tools": {}}
            return result(body["id"], protocolVersion=version, capabilities=capabilities, serverInfo=about)
        case "tools/list", "pages":
            return result(body["id"], tools=[TOOL], nextCursor="more")
        case "tools/list", "schemas":
            nested: dict[str, Any] = {"type": "object", "description": "x" * 200_000}
            return result(body["id"], tools=[TOOL | {"inputSchema": nested}])
        case "tools/list", "silent":
            await asyncio.Event().wait()
        case "tools/list", _:
            return result(body["id"], tools=[TOOL])
        case "tools/call", "deaf" if body["params"]["name"] == "weather":
            return result(body["id"], content=[{"type": "text", "text": "sunny"}])
        case "tools/call", "hangs" | "deaf":
            await asyncio.Event().wait()
        case "tools/call", "megabytes":
            return result(body["id"], content=[{"type": "text", "text": "x" * 20_000_000}])
        case "tools/call", "nonsense":
            return result(body["id"], content=7)
        case "tools/call", "long":
            return result(body["id"], content=[{"type": "text", "text": "x" * 500_000}])
    error = {"code": -32601, "message": "Method not found"}
    return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "error": error})


async def _flood() -> AsyncIterator[bytes]:
    while True:
        yield b": nothing\n\n" * 10_000
        await asyncio.sleep(0)  # to nobody it would be sent without a pause


@asynccontextmanager
async def hostile_mcp() -> AsyncIterator[str]:
    """The server, as `http://127.0.0.1:9000`, on this event loop."""
    app = Starlette(routes=[Route("/{kind}", take, methods=["POST"])])
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    listening = uvicorn.Config(app, port=0, log_level="critical").bind_socket()
    listening.listen()
    server = PromptServer(config)
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listening.close()
