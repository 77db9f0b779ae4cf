"""Call through LiveKit Agents' unmodified GPT-Live session, which does the delegated work itself:
livekit_live_client_caller.py ADDRESS SOUND, 24 kHz PCM.

A person speaks, the session is told of a delegation, informs the model and answers after a second. Then the
person speaks while the session is muted, and again once it is not. Prints what came as a line of JSON.
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


async def speak(session, sound: bytes) -> None:
    """Send the sound and two seconds of silence, at the pace of real time."""
    sound += bytes(96_000)
    for at in range(0, len(sound) - 2 * FRAME + 1, 2 * FRAME):
        session.push_audio(rtc.AudioFrame(sound[at : at + 2 * FRAME], 24_000, 1, FRAME))
        await asyncio.sleep(0.02)


class Caller:
    """Recorder of one session."""

    def __init__(self, session) -> None:
        self.session = session
        self.came = {"kinds": [], "errors": [], "delegations": 0, "said": "", "heard": [], "while_muted": []}
        self.delegated: asyncio.Queue = asyncio.Queue()
        session.on("openai_server_event_received", self.on_event)
        session.on("delegation_created", self.delegated.put_nowait)
        session.on("transcript_delta", self.on_said)
        session.on("input_audio_transcription_completed", self.on_heard)
        session.on("error", lambda error: self.came["errors"].append(str(error)))

    def on_event(self, event) -> None:
        """Record an event."""
        self.came["kinds"].append(event["type"])
        if event["type"] == "error":
            self.came["errors"].append(event["error"]["message"])

    def on_said(self, delta) -> None:
        """Record words of the agent."""
        self.came["said"] += delta.text

    def on_heard(self, transcript) -> None:
        """Record words of the caller."""
        self.came["heard"].append(transcript.transcript)

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until so many events of a kind have come."""
        while self.came["kinds"].count(kind) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def answer(self, content: str) -> None:
        """Answer the next delegation after a second, with a note before."""
        delegation = await self.delegated.get()
        self.came["delegations"] += 1
        self.session.append_thinking("The forecast is being read.", delegation_id=delegation.id)
        await self.until("session.thinking.appended", self.came["delegations"])
        await asyncio.sleep(1.0)
        self.session.append_commentary(content, delegation_id=delegation.id)
        while content not in self.came["said"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def main(address: str, sound: bytes) -> None:
    """Call, and print what came."""
    async with aiohttp.ClientSession() as http:
        model = GPTLiveModel(
            base_url=f"http://{address}/v1", api_key="none", http_session=http, delegation="client"
        )
        caller = Caller(model.session())
        session = caller.session
        await session._update_session(instructions="Be brief.", chat_ctx=llm.ChatContext.empty(), tools=[])
        speaking = asyncio.create_task(speak(session, sound))
        await caller.answer("sunny")
        await speaking
        session.append_instructions("Speak slowly.")
        await caller.until("session.instructions.appended")

        session.mute_input()
        await caller.until("session.input_audio.muted")
        before = caller.came["kinds"].count("session.input_transcript.delta")
        await speak(session, sound)
        caller.came["while_muted"] = caller.came["kinds"].count("session.input_transcript.delta") - before
        session.unmute_input()
        await caller.until("session.input_audio.unmuted")
        speaking = asyncio.create_task(speak(session, sound))
        await caller.answer("rainy")
        await speaking
        await session.aclose()
        await model.aclose()
    caller.came["kinds"] = sorted(set(caller.came["kinds"]))
    print(json.dumps(caller.came))


asyncio.run(asyncio.wait_for(main(sys.argv[1], Path(sys.argv[2]).read_bytes()), 90))
