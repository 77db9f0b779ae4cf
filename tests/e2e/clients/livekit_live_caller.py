"""Call through LiveKit Agents' unmodified GPT-Live session: livekit_live_caller.py ADDRESS SOUND, 24 kHz PCM.

A person speaks, the backend calls a tool that takes a while, and the agent tells its result. Then the agent
is asked for a reply. Prints what came as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai.realtime import GPTLiveModel

FRAME = 480


@llm.function_tool
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return "sunny"


async def speak(session, sound: bytes) -> None:
    """Send the sound and two seconds of silence, at the pace of real time."""
    sound += bytes(96_000)
    for at in range(0, len(sound) - 2 * FRAME + 1, 2 * FRAME):
        session.push_audio(rtc.AudioFrame(sound[at : at + 2 * FRAME], 24_000, 1, FRAME))
        await asyncio.sleep(0.02)


async def main(address: str, sound: bytes) -> None:
    """Call, and print what came."""
    came = {"kinds": [], "errors": [], "tools": [], "said": "", "heard": "", "sound_s": 0.0}
    called, told = asyncio.Queue[llm.FunctionCall](), asyncio.Event()
    async with aiohttp.ClientSession() as http:
        model = GPTLiveModel(base_url=f"http://{address}/v1", api_key="none", http_session=http)
        session = model.session()

        def on_event(event) -> None:
            came["kinds"].append(event["type"])
            if event["type"] == "error":
                came["errors"].append(event["error"]["message"])

        def on_said(delta) -> None:
            came["said"] += delta.text
            if "sunny" in came["said"]:
                told.set()

        def on_heard(transcript) -> None:
            came["heard"] = transcript.transcript

        async def listen() -> None:
            async for frame in session.audio_stream:
                came["sound_s"] += frame.frame.duration

        session.on("openai_server_event_received", on_event)
        session.on("function_call", called.put_nowait)
        session.on("transcript_delta", on_said)
        session.on("input_audio_transcription_completed", on_heard)
        session.on("error", lambda error: came["errors"].append(str(error)))
        listening = asyncio.create_task(listen())
        await session._update_session(
            instructions="Be brief.", chat_ctx=llm.ChatContext.empty(), tools=[weather]
        )
        speaking = asyncio.create_task(speak(session, sound))
        call = await called.get()
        came["tools"].append(call.name)
        await asyncio.sleep(1.0)
        output = llm.FunctionCallOutput(call_id=call.call_id, output="sunny", is_error=False, name=call.name)
        await session._append_items([output])
        await told.wait()
        await speaking
        before = came["kinds"].count("session.output_audio.delta")
        session._generate_reply(instructions="Say goodbye.")
        while came["kinds"].count("session.output_audio.delta") == before:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await session.aclose()
        listening.cancel()
        await model.aclose()
    came["kinds"] = sorted(set(came["kinds"]))
    print(json.dumps(came))


asyncio.run(asyncio.wait_for(main(sys.argv[1], Path(sys.argv[2]).read_bytes()), 90))
