#!/usr/bin/env bash
# uvicorn 0.54.0: one message that the application has not read makes the server close the call after 40 s with 1011, "keepalive
# ping timeout", though the client answers every ping.
#
# The server sends a ping each 20 s and waits 20 s for the answer (`ws_ping_interval`, `ws_ping_timeout`). One expects it to
# close only a client that is gone. But `websockets-sansio`, the default since `websockets` is deprecated, and `wsproto` stop
# reading from the socket at the first message that waits for `receive()`, and the answers to pings wait behind it. An agent that
# reads a question, calls a tool and speaks its reply before it reads again loses each call where that lasts longer than 40 s
# and the client has sent a single mark or key press meanwhile. Without that message the same code works, so a test does not
# find it. The client is told that it did not answer, the application gets an exception in the middle of its reply, and only a
# line at level trace is logged. With `websockets` one unread message does no harm, since it stops reading after 32. What helps: a
# task that always reads, into a queue of the application; or `ws_ping_timeout=None`.
# Output seen: close code and seconds heard of a reply of 60 s, with 0, 1 and 40 unread messages: websockets: 1000 60, 1000 60,
# 1011 40; websockets-sansio and wsproto: 1000 60, 1011 40, 1011 40; all three with a task that reads the 40: 1000 60.
# Seen with websockets 17.4, wsproto 1.2.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uvicorn==0.54.0 websockets==17.4 wsproto==1.2.0
cat > "$folder/unread.py" <<'PYTHON'
import asyncio
import logging
from contextlib import suppress
from importlib.metadata import version

import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

logging.disable(logging.CRITICAL)
REPLY_S, FRAME_S = 60, 0.1
loop, seconds = asyncio.SelectorEventLoop(), [0.0]
select = loop._selector.select


def wait(timeout):  # a moment, for what is under way between the sockets; then the loop's clock goes on
    ready = select(0) or (select(0.002) if timeout != 0 else [])
    seconds[0] += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: seconds[0]


async def agent(scope, receive, send) -> None:
    """Speak a reply, and read what has come meanwhile only afterwards, or in a task at the path /reads."""
    await receive()
    await send({"type": "websocket.accept"})

    async def read() -> None:
        while (await receive())["type"] != "websocket.disconnect":
            pass

    reading = asyncio.create_task(read()) if scope["path"] == "/reads" else None
    with suppress(Exception):  # the call was lost
        for _ in range(round(REPLY_S / FRAME_S)):
            await send({"type": "websocket.send", "bytes": bytes(1600)})
            await asyncio.sleep(FRAME_S)
        await send({"type": "websocket.close", "code": 1000})
    await (reading or read())


async def call(port: int, unread: int, path: str) -> tuple[int, int]:
    """Return the code with which the server ends the call, and the seconds of the reply that came."""
    heard_s = 0.0
    async with connect(f"ws://127.0.0.1:{port}{path}", ping_interval=None) as socket:
        for _ in range(unread):
            await socket.send("mark")
        try:
            while await socket.recv():
                heard_s += FRAME_S
        except ConnectionClosed as closed:
            return closed.rcvd.code, round(heard_s)


async def calls(implementation: str) -> list[tuple[int, int]]:
    config = uvicorn.Config(agent, port=0, ws=implementation, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(FRAME_S)
    port = server.servers[0].sockets[0].getsockname()[1]
    kinds = ((0, "/"), (1, "/"), (40, "/"), (40, "/reads"))
    ends = await asyncio.gather(*(call(port, *kind) for kind in kinds))
    server.should_exit = True
    await serving
    return ends


async def main() -> None:
    print("uvicorn", version("uvicorn"), "unread messages: 0, 1, 40, and 40 that a task reads")
    whole, lost = (1000, REPLY_S), (1011, 40)
    for implementation, expected in (
        ("websockets", [whole, whole, lost, whole]),
        ("websockets-sansio", [whole, lost, lost, whole]),
        ("wsproto", [whole, lost, lost, whole]),
    ):
        ends = await calls(implementation)
        print(f"  {implementation}: {ends}")
        for (code, heard_s), (expected_code, expected_s) in zip(ends, expected, strict=True):
            assert code == expected_code and abs(heard_s - expected_s) <= 2


loop.run_until_complete(main())
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/unread.py"
