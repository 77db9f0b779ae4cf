"""A call by OpenAI's own `openai-agents`, unmodified: a typed question, a tool, and an interruption.

python agents_caller.py URL

Prints a line of JSON for what came of each. It runs in an environment of its own, for the package does not go
with the WebSocket library of this one.
"""

from __future__ import annotations

import asyncio
import json
import sys

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner


@function_tool
async def weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


async def main(url: str) -> None:
    agent = RealtimeAgent(name="Clerk", instructions="Be brief.", tools=[weather])
    runner = RealtimeRunner(agent, config={"model_settings": {"model_name": "voiceagent"}})
    session = await runner.run(model_config={"api_key": "none", "url": url})
    sound = 0
    async with session, asyncio.timeout(60):
        await session.send_message("How is the weather?")
        async for event in session:
            if event.type == "error":
                print(json.dumps({"error": str(event.error)}), flush=True)
                return
            if event.type == "tool_end":
                print(json.dumps({"tool": event.tool.name, "output": event.output}), flush=True)
            elif event.type == "audio":
                sound += len(event.audio.data)
                if sound > 24_000:  # half a second
                    sound = -10_000_000
                    await session.interrupt()
                    print(json.dumps({"sound": True}), flush=True)
            elif event.type == "audio_interrupted":
                print(json.dumps({"interrupted": True}), flush=True)
            elif event.type == "raw_model_event" and event.data.type == "raw_server_event":
                told = event.data.data
                if told["type"] == "response.done":
                    print(json.dumps({"response": told["response"]["status"]}), flush=True)
                if told["type"] == "response.done" and told["response"]["status"] == "cancelled":
                    return


asyncio.run(main(sys.argv[1]))
