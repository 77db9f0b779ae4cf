"""Your own server for calls from browsers: they have the sound, it has key, instructions and tools.

VOICE_KEY=sk-... VOICE_URL=http://127.0.0.1:8080 uvicorn --app-dir examples/sideband server:app --port 8000
"""

import asyncio
import json
import os
from pathlib import Path

import httpx
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

VOICE_URL, VOICE_KEY = os.environ["VOICE_URL"], os.environ.get("VOICE_KEY", "none")
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SESSION = {"type": "realtime", "instructions": "Say hello. You know the weather.", "tools": [WEATHER]}
voice, controlling = AsyncOpenAI(api_key=VOICE_KEY, base_url=f"{VOICE_URL}/v1"), set()


def weather(city: str) -> str:
    """Return the weather. The browser cannot see this code."""
    return f"sunny in {city}"


async def control(call_id: str) -> None:
    """Control a call through its sideband until the call ends."""
    async with voice.realtime.connect(call_id=call_id) as sideband:
        await sideband.session.update(session=SESSION)
        await sideband.response.create()
        async for event in sideband:
            if event.type == "response.function_call_arguments.done":
                output = weather(**json.loads(event.arguments))
                item = {"type": "function_call_output", "call_id": event.call_id, "output": output}
                await sideband.conversation.item.create(item=item)
                await sideband.response.create()


async def call(request: Request) -> Response:
    """Forward a browser's offer, and control the resulting call."""
    headers = {"authorization": f"Bearer {VOICE_KEY}", "content-type": "application/sdp"}
    async with httpx.AsyncClient(base_url=VOICE_URL) as http:
        answer = await http.post("/v1/realtime/calls", content=await request.body(), headers=headers)
    answer.raise_for_status()
    task = asyncio.create_task(control(answer.headers["location"].rpartition("/")[2]))
    controlling.add(task)
    task.add_done_callback(controlling.discard)
    return Response(answer.text, 201, media_type="application/sdp")


page = FileResponse(Path(__file__).with_name("page.html"))
app = Starlette(routes=[Route("/", lambda _: page), Route("/call", call, methods=["POST"])])
