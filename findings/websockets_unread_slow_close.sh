#!/usr/bin/env bash
# websockets 17.4: after a barge-in `close()` of a voice's socket takes 10 s and ends with 1006, if the agent read the audio at the
# pace at which it plays.
#
# A voice sends a reply faster than it plays, and an agent that reads a chunk, plays it, and reads the next one leaves it to the
# socket's backpressure to hold back the rest. When the caller interrupts, it closes the socket, and one expects the handshake
# to take a round trip. But with more than 16 unread messages (`max_queue`) the library has stopped reading from the network,
# `close()` does not begin again, and the other end's answer waits behind audio that is never read, until `close_timeout`. What
# follows `async with` is 10 s late, so is the answer to the interruption where the agent opens a socket for each reply; the voice's
# server holds the connection for as long, and sees a lost client. A test with a short reply closes at once. Nothing is logged.
# The documentation of `close_timeout` is about other ends that do not answer; this one does. aiohttp's client reads on.
# What helps: to take what is left while closing, as below, or to read always and keep the audio in a queue of the agent.
# Output seen, seconds and code of `close()` after 1 s of a reply with 10, 100 and 400 chunks of 0.1 s: 0.0 1000, 10.0 1006, 10.0
# 1006; taking what is left: 0.0 to 0.1 1000; aiohttp: 0.0 1000.
# Seen with websockets 17.4, aiohttp 3.14.5, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile websockets==17.4 aiohttp==3.14.5
cat > "$folder/close.py" <<'PYTHON'
import asyncio
from contextlib import suppress
from importlib.metadata import version
from time import monotonic

import aiohttp
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

CHUNK_S, HEARD_S = 0.1, 1.0
CHUNK = bytes(4800)  # 0.1 s at 24 kHz


async def voice(socket: ServerConnection) -> None:
    """Send a reply of as many chunks as the client asks for, as fast as the client takes them."""
    with suppress(ConnectionClosed):
        for _ in range(int(await socket.recv())):
            await socket.send(CHUNK)
        await socket.wait_closed()


async def take_rest(socket: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            await socket.recv()


async def by_websockets(url: str, chunks: int, takes_rest: bool = False) -> tuple[float, int]:
    """Return how long `close()` took after the first second of a reply, and the code."""
    socket = await connect(url)
    await socket.send(str(chunks))
    for _ in range(round(HEARD_S / CHUNK_S)):
        await socket.recv()
        await asyncio.sleep(CHUNK_S)
    began = monotonic()
    rest = [take_rest(socket)] if takes_rest else []
    await asyncio.gather(socket.close(), *rest)
    return round(monotonic() - began, 1), int(socket.close_code)


async def by_aiohttp(url: str, chunks: int) -> tuple[float, int]:
    async with aiohttp.ClientSession() as session:
        socket = await session.ws_connect(url)
        await socket.send_str(str(chunks))
        for _ in range(round(HEARD_S / CHUNK_S)):
            await socket.receive()
            await asyncio.sleep(CHUNK_S)
        began = monotonic()
        await socket.close()
        return round(monotonic() - began, 1), int(socket.close_code)


async def main() -> None:
    print("websockets", version("websockets"), "aiohttp", version("aiohttp"))
    async with serve(voice, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        seen = {f"{chunks} chunks": await by_websockets(url, chunks) for chunks in (10, 100, 400)}
        seen["400, the rest taken"] = await by_websockets(url, 400, takes_rest=True)
        seen["400, aiohttp"] = await by_aiohttp(url, 400)
    for name, (seconds, code) in seen.items():
        print(f"  {name}: {seconds} s, {code}")
    slow = ("100 chunks", "400 chunks")
    for name, (seconds, code) in seen.items():
        assert code == (1006 if name in slow else 1000), name
        assert 9 < seconds < 12 if name in slow else seconds < 2, name


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/close.py"
