"""A chat completions server with chosen faults."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Literal

from chat_server import chunk, event, serve
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Mode = Literal["well", "429", "500", "hang", "half a stream", "stall", "slow", "garbage"]
WORDS = ("Sure, ", "I can help. ", "It will only ", "take a moment.")
SLOW_S = 0.4


class FaultyLlm:
    """mode: what it does with the next request. base_url: where it is."""

    def __init__(self) -> None:
        self.mode: Mode = "well"
        self.base_url = ""

    async def complete(self, request: Request) -> Response:
        await request.body()
        match self.mode:
            case "429" | "500" as status:
                return JSONResponse({"error": {"message": "secret of the upstream"}}, int(status))
            case "hang":
                await asyncio.sleep(3_600)
        return StreamingResponse(self._stream(self.mode), media_type="text/event-stream")

    async def _stream(self, mode: Mode) -> AsyncGenerator[str, None]:
        for number, words in enumerate(WORDS):
            if number == 2 and mode == "half a stream":
                raise ConnectionAbortedError("the stream breaks off")
            if number == 2 and mode == "stall":
                await asyncio.sleep(3_600)
            if number == 2 and mode == "garbage":
                yield "data: {no json\n\n"
                return
            if mode == "slow":
                await asyncio.sleep(SLOW_S)
            yield event(chunk({"content": words}))
        yield event(chunk({}, "stop"))
        yield "data: [DONE]\n\n"


@contextmanager
def faulty_llm() -> Iterator[FaultyLlm]:
    """One that runs in a thread for the length of the block."""
    llm, started = FaultyLlm(), threading.Event()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": []})

    async def run() -> None:
        routes = [Route("/v1/chat/completions", llm.complete, methods=["POST"]), Route("/v1/models", models)]
        async with serve(Starlette(routes=routes)) as llm.base_url:
            started.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait(30)
    try:
        yield llm
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
