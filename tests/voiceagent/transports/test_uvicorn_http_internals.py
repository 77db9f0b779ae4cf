"""Limits on uvicorn's HTTP protocol; the private parts of it that they use exist."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
import uvloop
from library_parts import assert_parts
from prompt_server import PromptServer
from starlette.responses import StreamingResponse
from uvicorn.server import ServerState

from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.uvicorn_http_internals import GuardedHttp, guarded_http


async def test_the_parts_of_uvicorn_that_are_guarded_are_there() -> None:
    config = uvicorn.Config(lambda: None, lifespan="off")
    protocol = guarded_http(USUAL_LIMITS)(config, ServerState(), {})
    steps = ("connection_made", "connection_lost", "on_response_complete", "_should_upgrade")
    steps += ("pause_writing", "resume_writing", "send_400_response")
    states = ("connections", "cycle", "conn", "loop", "transport")
    user = "voiceagent/transports/uvicorn_http_internals.py"
    assert_parts("uvicorn", protocol, *steps, *states, user=user)


@asynccontextmanager
async def serving(answer: str = "well", **limits: float) -> AsyncIterator[int]:
    """A server that answers so to everything; gives its port."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        pieces = (answer[begin : begin + 65_536] for begin in range(0, len(answer), 65_536))
        length = {"content-length": str(len(answer))}
        await StreamingResponse(pieces, 200, length, media_type="text/plain")(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    http = guarded_http(TransportLimits().model_copy(update=limits))
    server = PromptServer(uvicorn.Config(app, http=http, lifespan="off", log_level="warning"))
    task = asyncio.create_task(server.serve([listening]))
    try:
        while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


async def get(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_one_connection_too_many_ends_the_one_that_has_waited_longest() -> None:
    async with serving(max_connections=8) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        assert (await get(port)).endswith(b"well")
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(idle[0][0].read(), 10) == b""
        idle[-1][1].write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert (await asyncio.wait_for(idle[-1][0].read(), 10)).endswith(b"well")
        for _, writer in idle:
            writer.transport.abort()


def test_a_request_that_came_in_time_is_answered_though_the_server_was_busy_until_it_was_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait = GuardedHttp._wait

    def wait_and_be_busy(self: GuardedHttp) -> None:
        wait(self)
        time.sleep(0.2)

    monkeypatch.setattr(GuardedHttp, "_wait", wait_and_be_busy)

    async def asked() -> bytes:
        async with serving(max_request_s=0.1) as port:
            return await get(port)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the server has it
        assert runner.run(asked()).endswith(b"well")


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: he"])
async def test_a_request_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    async with serving(max_request_s=0.05) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()


async def test_clients_that_read_no_answer_keep_nobody_out() -> None:
    async with serving("x" * 4_000_000, max_connections=8, max_request_s=30.0) as port:
        unread = [await asyncio.open_connection("127.0.0.1", port, limit=1_000) for _ in range(8)]
        for _, writer in unread:
            writer.transport.pause_reading()
            writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n" * 4)
        async with asyncio.timeout(20):
            answer = b""
            while not answer:  # until the others are stuck
                with contextlib.suppress(ConnectionError):
                    answer = await get(port)
        assert len(answer) > 4_000_000
        for _, writer in unread:
            writer.transport.abort()
