#!/usr/bin/env bash
# openai 3.57.0: a Live connection that the SDK opens again sends audio on the new socket and no `session.start`.
#
# `live.connect` asks for `session.start` first and for waiting until `session.started`. With `on_reconnecting` the SDK
# opens a lost connection again and sends at once what waited in its queue. It does not repeat `session.start`, and nothing
# tells the application that it is connected again (the JavaScript SDK emits "reconnected"), so with a microphone
# each new session begins with `session.input_audio.append`, which a server of Live has to refuse. The connection's own
# `send` is a coroutine, and `on_reconnecting` is not: only `send` of the manager, meant for the time before the connection,
# helps there. Its queue is the connection's, so the start comes first, but audio still follows before `session.started`.
# Output seen: the second connection has session.input_audio.append only; with the manager's send, session.start first.
# Seen with openai 3.57.0, websockets 15.0.1, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "openai[realtime]==3.57.0" websockets==15.0.1
cat > "$folder/reconnect.py" <<'PYTHON'
import asyncio
import json
from importlib.metadata import version

from openai import AsyncOpenAI
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

START = {"type": "session.start", "session": {"model": "gpt-live-1"}}
SESSION = {"id": "live_1", "expires_at": 2_000_000_000, "model": "gpt-live-1", "status": "active"}


async def call(starts_again: bool) -> list[list[str]]:
    """Return the types of the first five events that came on each connection."""
    connections: list[list[str]] = []

    async def live(socket: ServerConnection) -> None:
        events: list[str] = []
        connections.append(events)
        try:
            while len(events) < 5:
                events.append(json.loads(await socket.recv())["type"])
                if events[-1] == "session.start":
                    await socket.send(json.dumps({"type": "session.started", "event_id": "e1", "session": SESSION}))
            await socket.close(1012 if len(connections) == 1 else 4000)  # service restart; one that is not retried
        except ConnectionClosed:
            pass

    async with serve(live, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1")
        manager = client.live.connect(
            on_reconnecting=lambda event: manager.send(START) if starts_again else None, initial_delay=0.2
        )
        async with manager as connection:

            async def microphone() -> None:
                while True:  # 20 ms of silence at 24 kHz
                    await connection.session.input_audio.append(audio="AAAA" * 320)
                    await asyncio.sleep(0.02)

            await connection.send(START)
            await connection.recv()
            speaking = asyncio.create_task(microphone())
            try:
                async for _ in connection:
                    pass
            except ConnectionClosed:
                pass
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)
    return connections


async def main() -> None:
    print("openai", version("openai"))
    for starts_again in (False, True):
        first, second = await call(starts_again)
        print(f"  second connection, session.start by the manager's send: {starts_again}: {second}")
        assert first[0] == "session.start" and second[1:] == ["session.input_audio.append"] * 4
        assert second[0] == ("session.start" if starts_again else "session.input_audio.append")


asyncio.run(asyncio.wait_for(main(), 60))
PYTHON
"$folder/venv/bin/python" "$folder/reconnect.py"
