#!/usr/bin/env bash
# livekit-agents 1.8.9: its client of OpenAI's Live API keeps what the microphone gave during an outage and sends all of it at once.
#
# A Live session has one timeline in real time. When the connection breaks, GPTLiveSession opens a new one and sends
# `session.start`; audio pushed until `session.started` waits in an unbounded queue, and all of it is sent then: after
# an outage of four seconds the new session begins with four seconds of old audio within 0.2 s, so that it hears the
# caller four seconds late or has to catch up. A server of Live that limits how fast audio comes has to allow for this.
# Seen with livekit-agents 1.8.9 and livekit-plugins-openai 1.8.9, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet livekit-agents==1.8.9 livekit-plugins-openai==1.8.9
cat > "$folder/outage.py" <<'PYTHON'
import asyncio
import base64
import json
import logging
import time
from importlib.metadata import version

import aiohttp
from aiohttp import web
from livekit import rtc
from livekit.agents import APIConnectOptions
from livekit.plugins.openai.realtime import GPTLiveModel

logging.disable(logging.CRITICAL)
OUTAGE_S = 4.0
sessions: list[list[tuple[float, str, int]]] = []  # seconds after session.started, type, bytes of audio


async def serve(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.receive_json()  # session.start
    if sessions:
        await asyncio.sleep(OUTAGE_S)
    session = {"id": f"live_{len(sessions)}", "expires_at": 2_000_000_000, "model": "gpt-live-1", "status": "active"}
    await socket.send_json({"type": "session.started", "event_id": "event_1", "session": session})
    started_s, events = time.monotonic(), []
    sessions.append(events)
    async for message in socket:
        event = json.loads(message.data)
        audio = base64.b64decode(event.get("audio", ""))
        events.append((time.monotonic() - started_s, event["type"], len(audio)))
        if len(sessions) == 1 and len(events) == 5:
            await socket.close(code=1012)  # service restart
    return socket


async def main() -> None:
    app = web.Application()
    app.router.add_get("/v1/live/sessions", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    async with aiohttp.ClientSession() as http:
        model = GPTLiveModel(
            api_key="none", base_url=f"http://127.0.0.1:{port}/v1", delegation="client", http_session=http,
            conn_options=APIConnectOptions(max_retry=3, retry_interval=0.1, timeout=5),
        )
        session = model.session()
        await session._update_session(instructions="Be brief.")
        frame = rtc.AudioFrame(bytes(480 * 2), 24_000, 1, 480)  # 20 ms of silence
        next_s = end_s = time.monotonic()
        while len(sessions) < 2 or next_s < end_s + 0.5:
            session.push_audio(frame)
            end_s = next_s if len(sessions) < 2 else end_s
            next_s += 0.02
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))
        await session.aclose()
    await runner.cleanup()

    first = [event for event in sessions[1] if event[0] < 0.2]
    audio_s = sum(size for _, _, size in first) / 48_000
    print(f"livekit-agents {version('livekit-agents')}: in the 0.2 s after session.started of the second session:")
    print(f"  {audio_s:.1f} s of audio in {len(first)} events, pushed in real time")
    assert audio_s > OUTAGE_S - 1.0


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/outage.py"
