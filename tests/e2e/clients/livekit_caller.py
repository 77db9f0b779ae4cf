"""Call through LiveKit Agents' unmodified Realtime session: livekit_caller.py ADDRESS SOUND, 24 kHz PCM.

A person speaks, and a tool is called. The same voice interrupts the answer, which is truncated and cancelled
as `AgentSession` does it. Then the history is edited. Prints the results as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai.realtime import RealtimeModel

FRAME = 480
LONG = "sunny, " * 30


@llm.function_tool
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return LONG


async def speak(session: llm.RealtimeSession, sound: bytes) -> None:
    """Send the sound and a second of silence, at the pace of real time."""
    sound += bytes(48_000)
    for at in range(0, len(sound) - 2 * FRAME + 1, 2 * FRAME):
        session.push_audio(rtc.AudioFrame(sound[at : at + 2 * FRAME], 24_000, 1, FRAME))
        await asyncio.sleep(0.02)


async def main(address: str, sound: bytes) -> None:
    """Call, and print the results."""
    came = {"kinds": [], "errors": [], "tools": [], "truncated": 0}
    generations = asyncio.Queue[llm.GenerationCreatedEvent]()
    async with aiohttp.ClientSession() as http:
        model = RealtimeModel(
            model="gpt-realtime", base_url=f"http://{address}/v1", api_key="none", http_session=http
        )
        session = model.session()
        session.on("generation_created", generations.put_nowait)
        session.on("error", lambda error: came["errors"].append(str(error)))
        session.on("openai_server_event_received", lambda event: came["kinds"].append(event["type"]))
        await session.update_instructions("Be brief.")
        await session.update_tools([weather])

        await speak(session, sound)
        generation = await generations.get()
        async for call in generation.function_stream:
            came["tools"].append(call.name)
            context = session.chat_ctx.copy()
            context.items.append(
                llm.FunctionCallOutput(call_id=call.call_id, output=LONG, is_error=False, name=call.name)
            )
            await session.update_chat_ctx(context)
            generation = await session.generate_reply()
            break
        async for message in generation.message_stream:
            heard = 0.0
            async for frame in message.audio_stream:
                heard += frame.duration
                if heard > 1.0:
                    break
            session.interrupt()
            session.truncate(
                message_id=message.message_id, modalities=["audio"], audio_end_ms=int(heard * 1000)
            )
            break
        while came["kinds"].count("response.done") < 2:  # noqa: ASYNC110 - the session has no event for it
            await asyncio.sleep(0.05)
        came["truncated"] = came["kinds"].count("conversation.item.truncated")
        context = session.chat_ctx.copy()
        context.add_message(role="user", content="Thanks.")
        await session.update_chat_ctx(context)
        messages = (item for item in session.chat_ctx.items if item.type == "message" and item.role == "user")
        came["heard"] = [message.text_content for message in messages]
        await session.aclose()
        await model.aclose()
    came["errors"] += ["an error event"] * came["kinds"].count("error")
    came["kinds"] = sorted(set(came["kinds"]))
    print(json.dumps(came))


asyncio.run(asyncio.wait_for(main(sys.argv[1], Path(sys.argv[2]).read_bytes()), 90))
