"""A chat completions server over any engine, for tests: a real HTTP server in the test's own event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from llmcore.engine import Delta, Llm, LlmError, Message, Request, Tool, ToolCall


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[str]:
    """Serve on a free port; yields the base URL, with `/v1`."""
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
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


def chat_app(llm: Llm) -> Starlette:
    """`POST /v1/chat/completions` (streamed) and `GET /v1/models`."""

    async def complete(http: HttpRequest) -> Response:
        body = await http.json()
        return StreamingResponse(_events(llm, read_body(body)), media_type="text/event-stream")

    async def models(http: HttpRequest) -> Response:
        return JSONResponse({"object": "list", "data": []})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models),
        ]
    )


async def _events(llm: Llm, request: Request) -> AsyncGenerator[str, None]:
    try:
        async with aclosing(llm.generate(request)) as deltas:
            async for delta in deltas:
                for chunk in chunks(delta):
                    yield event(chunk)
        yield "data: [DONE]\n\n"
    except LlmError as error:
        yield event({"error": {"message": str(error)}})


def event(data: Any) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(data)}\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A chunk with one choice."""
    return {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def usage_chunk(prompt: int, cached: int, completion: int) -> dict[str, Any]:
    """The chunk with the usage, which comes last and has no choice."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return chunk({}) | {"choices": [], "usage": usage}


def chunks(delta: Delta) -> list[dict[str, Any]]:
    """What a server sends for a delta."""
    sent = []
    if delta.text:
        sent.append(chunk({"content": delta.text}))
    for index, call in enumerate(delta.tool_calls):
        function = {"name": call.name, "arguments": call.arguments}
        sent.append(
            chunk(
                {
                    "tool_calls": [
                        {"index": index, "id": call.call_id, "type": "function", "function": function}
                    ]
                }
            )
        )
    if delta.finish_reason is not None:
        sent.append(chunk({}, delta.finish_reason))
    if delta.usage is not None:
        usage = delta.usage
        sent.append(usage_chunk(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    return sent


def read_body(body: dict[str, Any]) -> Request:
    """A request's body as an engine's request."""
    choice = body.get("tool_choice", "auto")
    return Request(
        messages=tuple(_message(message) for message in body["messages"]),
        tools=tuple(Tool(**tool["function"]) for tool in body.get("tools", ())),
        tool_choice=choice if isinstance(choice, str) else choice["function"]["name"],
        max_tokens=body["max_tokens"],
        temperature=body["temperature"],
        stop=tuple(body.get("stop", ())),
    )


def _message(message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    )
    return Message(message["role"], message["content"], calls, message.get("tool_call_id"))
