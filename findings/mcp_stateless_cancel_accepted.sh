#!/usr/bin/env bash
# mcp 2.3.0 and 1.29.0: a tool call that the client cancels is carried out all the same where the server is stateless and
# the session is of the older protocol, though the server accepts the cancellation with 202.
#
# When a caller interrupts, an agent cancels the tool that it waits for, and the SDK's client sends `notifications/cancelled`
# as the specification has it (2025-11-25, "Cancellation"). One expects the tool to be cancelled, as it is in process, over
# stdio and over HTTP with sessions. With `stateless_http=True`, with which any server behind a load balancer
# can answer, the notification is a request of its own: it meets a new session that has no such call, is answered with 202, and the
# table is booked while the agent tells that it was not. Neither side warns; a timeout ends in the same way.
# Only where both sides speak 2026-07-28, in which the closed stream is the signal, does it work, so the same client cancels
# on one server and not on another. What helps: cancelling only what may happen twice or not at all; or sessions.
# Output seen: server 2.3.0 with sessions, older protocol: cancelled; stateless: booked; stateless, 2026-07-28: cancelled;
# server 1.29.0, stateless, the client as it is: booked; with sessions: cancelled.
# Seen with mcp 2.3.0 (client, server) and 1.29.0 (server), Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/new"
"$folder/new/bin/pip" install --quiet mcp==2.3.0
python3 -m venv "$folder/old"
"$folder/old/bin/pip" install --quiet mcp==1.29.0
cat > "$folder/server.py" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

outcome, kind, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
where = {"port": port, "stateless_http": kind == "stateless"}
if version("mcp").startswith("1."):
    from mcp.server.fastmcp import FastMCP

    server, run = FastMCP("tables", log_level="CRITICAL", **where), {}
else:
    from mcp.server import MCPServer

    server, run = MCPServer("tables", log_level="CRITICAL"), where


@server.tool()
async def book() -> str:
    try:
        await asyncio.sleep(2)
    except asyncio.CancelledError:
        outcome.write_text("cancelled")
        raise
    outcome.write_text("booked")
    return "booked"


server.run("streamable-http", **run)
PYTHON
cat > "$folder/client.py" <<'PYTHON'
import asyncio
import sys
from pathlib import Path
from mcp import Client

outcome, port, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


async def main() -> None:
    for attempt in range(60):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", int(port))
            break
        except OSError:
            await asyncio.sleep(0.5)
    writer.close()
    async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
        call = asyncio.create_task(client.call_tool("book", {}))
        await asyncio.sleep(0.7)
        call.cancel()
        await asyncio.sleep(3)
    print(outcome.read_text())


asyncio.run(main())
PYTHON
port=18760
check() { # server's version, its kind, the client's mode, the outcome expected
  port=$((port + 1))
  "$folder/$1/bin/python" "$folder/server.py" "$folder/outcome" "$2" "$port" 2>/dev/null >/dev/null &
  seen=$("$folder/new/bin/python" "$folder/client.py" "$folder/outcome" "$port" "$3" 2>/dev/null)
  kill $! && rm "$folder/outcome"
  echo "server $("$folder/$1/bin/pip" show mcp | sed -n 's/^Version: //p'), $2, client mode $3: $seen"
  [ "$seen" = "$4" ]
}
check new sessions legacy cancelled
check new stateless legacy booked
check new stateless auto cancelled
check old stateless auto booked
check old sessions auto cancelled
