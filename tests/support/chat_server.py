"""A real HTTP server in the test's own event loop, with what chat completions are made of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from prompt_server import PromptServer
from starlette.types import ASGIApp

from llmcore.serving.chat_completions import chat_app, chunk, event, usage_chunk

__all__ = ["chat_app", "chunk", "event", "serve", "usage_chunk"]


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[str]:
    """Serve on a free port; yields the base URL, with `/v1`."""
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1, lifespan="off")
    server = PromptServer(config)
    task = asyncio.create_task(server._serve())  # `serve` would take the test's signal handlers
    while not server.started:
        assert not task.done(), task
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        await task
