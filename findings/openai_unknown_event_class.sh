#!/usr/bin/env bash
# openai 3.57.0: an event of a type that the SDK does not know arrives as an object of the first class in its list of events.
#
# The SDK does not refuse what it cannot validate, so one expects a plain dictionary or a base class for a newer event.
# It takes the first class of the union instead: of the Realtime API each unknown event is a ConversationCreatedEvent, of
# the Live API a SessionStartedEvent; `type` keeps the right value. An application that chooses by class, as `match` with
# class patterns or `isinstance` does, begins its session anew at each of them; pyright and mypy accept that code. It bites
# with an event that is newer than the SDK, and with servers of the same protocol that add some of their own. Choose by
# `event.type`. Output seen: realtime ConversationCreatedEvent with conversation=None, live SessionStartedEvent with
# session=None, though neither field is optional.
# Seen with openai 3.57.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "openai[realtime]==3.57.0" websockets==15.0.1
cat > "$folder/unknown.py" <<'PYTHON'
import asyncio
import json
from importlib.metadata import version

from openai import AsyncOpenAI
from openai.types.live import SessionStartedEvent
from openai.types.realtime import ConversationCreatedEvent
from websockets.asyncio.server import ServerConnection, serve

NEW = {"type": "session.latency.updated", "event_id": "event_1", "latency_ms": 240}


async def server_with_a_newer_event(socket: ServerConnection) -> None:
    await socket.send(json.dumps(NEW))
    await socket.wait_closed()


async def main() -> None:
    async with serve(server_with_a_newer_event, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1")
        async with client.realtime.connect(model="gpt-realtime-2") as connection:
            realtime = await connection.recv()
        async with client.live.connect() as connection:
            live = await connection.recv()
    print(f"openai {version('openai')}: the class of {NEW['type']}")
    for api, event, required in (("realtime", realtime, "conversation"), ("live", live, "session")):
        print(f"  {api}: {type(event).__name__}, type={event.type!r}, {required}={getattr(event, required)}")
    assert isinstance(realtime, ConversationCreatedEvent) and isinstance(live, SessionStartedEvent)
    assert realtime.type == live.type == NEW["type"] and realtime.conversation is live.session is None


asyncio.run(asyncio.wait_for(main(), 60))
PYTHON
"$folder/venv/bin/python" "$folder/unknown.py"
