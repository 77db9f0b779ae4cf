"""A server of chat completions with answers scripted by the test: chunk by chunk, valid or broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from chat_server import chunk, event, serve, usage_chunk
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Answer = Callable[[dict[str, Any]], Response]
"""Function from a request's body to its answer."""
DONE = "data: [DONE]\n\n"


class QuirkyServer:
    """Server that answers each request with the next of `answers`, and then repeats the last one. It records
    the bodies.
    """

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []
        self.address = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve during the block; yields the base URL, with `/v1`."""

        async def complete(http: HttpRequest) -> Response:
            self.bodies.append(await http.json())
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            return answer(self.bodies[-1])

        async def models(_: HttpRequest) -> Response:
            return JSONResponse({"object": "list", "data": []})

        routes = [Route("/v1/chat/completions", complete, methods=["POST"]), Route("/v1/models", models)]
        async with serve(Starlette(routes=routes)) as self.address:
            yield self.address


def streamed(*sent: dict[str, Any] | str) -> Answer:
    """Return an answer of these chunks or lines, in order."""
    lines = [each if isinstance(each, str) else event(each) for each in sent]
    return lambda _: StreamingResponse(iter(lines), media_type="text/event-stream")


def reply(pieces: Iterable[str], finish: str | None = "stop") -> Answer:
    """Return an answer of these pieces of text, without a finish reason if that is None."""
    last = [] if finish is None else [chunk({}, finish)]
    return streamed(
        chunk({"role": "assistant", "content": ""}),
        *[chunk({"content": piece}) for piece in pieces],
        *last,
        usage_chunk(9, 4, 2),
        DONE,
    )


def calling(*pieces: dict[str, Any], finish: str = "tool_calls", **beside: Any) -> Answer:
    """Return an answer of pieces of tool calls. beside: further fields of the message, in an earlier
    chunk.
    """
    before = [chunk(beside)] if beside else []
    return streamed(*before, *[chunk({"tool_calls": [piece]}) for piece in pieces], chunk({}, finish), DONE)


def refused(status: int, **error: Any) -> Answer:
    """Return an error in place of a stream."""
    return lambda _: JSONResponse({"error": {"message": "refused", **error}}, status)


def broken(*pieces: str, finish: str | None = None) -> Answer:
    """Return an answer whose connection breaks after these pieces, the last one with a finish word."""

    async def lines() -> AsyncIterator[str]:
        for at, piece in enumerate(pieces, 1):
            yield event(chunk({"content": piece}, finish if at == len(pieces) else None))
        raise ConnectionResetError("pulled the plug")

    return lambda _: StreamingResponse(lines(), media_type="text/event-stream")


@asynccontextmanager
async def plain_server(*lines: str) -> AsyncIterator[str]:
    """Serve HTTP/1.0, where the end of the connection is the end of the stream; yields the URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        models = json.dumps({"object": "list", "data": []})
        body, kind = (
            ("".join(lines), "text/event-stream") if b"POST" in head else (models, "application/json")
        )
        writer.write(f"HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
