#!/usr/bin/env bash
# uvicorn 0.54.0: a lost WebSocket has the code of one that was closed, unless the deprecated implementation is chosen.
#
# RFC 6455, 7.4.1 has two codes for that: 1005, a close frame without a code; 1006, no close frame. A server that keeps
# a call for a client whose network broke needs the difference. `websocket.disconnect` has 1006 for a lost socket with
# --ws websockets, which is deprecated in favour of websockets-sansio; with websockets-sansio and with wsproto it has
# 1005, as for a close frame without a code. A server that moves to the new implementation takes each broken network
# for a goodbye. Seen with websockets 17.4, wsproto 1.2.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uvicorn==0.54.0 websockets==17.4 wsproto==1.2.0
cat > "$folder/codes.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

import uvicorn
from websockets.asyncio.client import connect

ENDS = ("close frame with 1000", "close frame without a code", "lost socket")


async def codes(implementation: str) -> dict[str, int]:
    ended: asyncio.Queue[int] = asyncio.Queue()

    async def app(scope, receive, send) -> None:
        assert scope["type"] == "websocket"
        await receive()
        await send({"type": "websocket.accept"})
        event = await receive()
        assert event["type"] == "websocket.disconnect"
        ended.put_nowait(event["code"])

    server = uvicorn.Server(uvicorn.Config(app, port=0, ws=implementation, lifespan="off", log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    found = {}
    for end in ENDS:
        client = await connect(f"ws://127.0.0.1:{port}/")
        if end == "lost socket":
            client.transport.abort()
        elif end == "close frame with 1000":
            await client.close(1000)
        else:
            client.protocol.send_close()
            client.transport.write(b"".join(client.protocol.data_to_send()))
        found[end] = await asyncio.wait_for(ended.get(), 10)
        await client.close()
    server.should_exit = True
    await serving
    return found


async def main() -> None:
    print("uvicorn", version("uvicorn"))
    lost = {}
    for implementation in ("websockets", "websockets-sansio", "wsproto"):
        found = {end: int(code) for end, code in (await codes(implementation)).items()}
        print(f"{implementation}: {found}", flush=True)
        assert (found[ENDS[0]], found[ENDS[1]]) == (1000, 1005), found
        lost[implementation] = found["lost socket"]
    assert lost == {"websockets": 1006, "websockets-sansio": 1005, "wsproto": 1005}, lost


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/codes.py"
