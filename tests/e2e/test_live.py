"""The unmodified `openai` SDK holds Live sessions with a server that was started as users start it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from live_types import proved
from openai import AsyncOpenAI
from recordings import recorded
from served import serving_tools

FRAME = 480
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
PATIENCE_S = 60.0


class LiveCaller:
    """A caller of one session; every event is proved."""

    def __init__(self, connection: Any, base_url: str = "") -> None:
        self.connection = connection
        self.base_url = base_url
        self.events: list[dict[str, Any]] = []

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the next event of a kind that has these fields."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = proved((await self.connection.recv()).to_dict())
                self.events.append(event)
                if event["type"] == kind and fields.items() <= event.items():
                    return event

    async def until_said(self, words: str) -> None:
        """Read events until the agent's transcript has these words."""
        while words not in self.transcript("output"):
            await self.until("session.output_transcript.delta")

    def transcript(self, side: str) -> str:
        """Return the transcript of one side so far."""
        kind = f"session.{side}_transcript.delta"
        return "".join(event["delta"] for event in self.events if event["type"] == kind)

    async def speak(self) -> None:
        """Say something and fall silent, at the pace of real time."""
        sound = np.concatenate([recorded("goforward.wav", 24_000), np.zeros(48_000, np.int16)])
        for at in range(0, len(sound), FRAME):
            data = base64.b64encode(sound[at : at + FRAME].tobytes()).decode()
            await self.connection.session.input_audio.append(audio=data)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def speaking(folder: Path, **config: Any) -> AsyncIterator[LiveCaller]:
    """Yield a caller who is speaking in a session with this configuration."""
    async with serving_tools(folder, "live_engine:LiveLlm") as address:
        base_url = f"http://{address}/v1"
        async with AsyncOpenAI(api_key="none", base_url=base_url).live.connect() as connection:
            caller = LiveCaller(connection, base_url)
            await connection.session.start(session={"model": "gpt-live-1", **config})  # type: ignore[typeddict-item]
            await caller.until("session.started")
            talk = asyncio.create_task(caller.speak())
            yield caller
            await talk
            await connection.session.close()
            closed = await caller.until("session.closed")
            assert closed["reason"] == "close_requested"
            assert closed["usage"]["seconds"] >= 1


async def test_client_that_answers_late_is_bridged_and_its_answer_is_told(tmp_path: Path) -> None:
    async with speaking(tmp_path) as caller:
        created = await caller.until("session.delegation.created")
        await caller.until_said("One moment.")
        await asyncio.sleep(1.0)
        append = caller.connection.session.commentary.append
        await append(content="sunny", delegation_id=created["delegation"]["id"], event_id="e1")
        await caller.until("session.commentary.appended", client_event_id="e1")
        await caller.until_said("It says sunny.")
        assert caller.transcript("input") == "Could you help me with something?"
        assert caller.transcript("output") == "One moment. It says sunny."


async def test_backend_calls_a_function_of_the_client_and_tells_its_result(tmp_path: Path) -> None:
    delegation = {"type": "responses", "responses": {"model": "gpt-5", "tools": [WEATHER]}}
    async with speaking(tmp_path, delegation=delegation) as caller:
        created = await caller.until("session.delegation.created")
        call: dict[str, Any] = {}
        while call.get("type") != "function_call" or call["status"] != "completed":
            event = await caller.until("response.event", delegation_id=created["delegation"]["id"])
            call = event["event"].get("item") or {}
        while event["event"]["type"] != "response.completed":
            event = await caller.until("response.event")
        response, output = caller.connection.response, {"call_id": call["call_id"], "output": "sunny"}
        await response.item.create(item={"type": "function_call_output", **output})  # type: ignore[misc]
        await response.create()
        await caller.until_said("It says sunny.")


async def test_fixture_is_played_sample_for_sample(tmp_path: Path) -> None:
    clip = np.random.default_rng(1).integers(-9_000, 9_000, 24_000, dtype=np.int16)
    async with speaking(tmp_path) as caller:
        play = caller.connection.session.output_audio.fixture.play
        await play(audio=base64.b64encode(clip.tobytes()).decode(), event_id="e1")
        await caller.until("session.output_audio.fixture.playing", client_event_id="e1")
        begun = len(caller.events)
        await caller.until("session.output_audio.fixture.played", client_event_id="e1")
        deltas = [event["delta"] for event in caller.events[begun:] if "output_audio.delta" in event["type"]]
        played = np.frombuffer(b"".join(base64.b64decode(delta) for delta in deltas), np.int16)
        assert (played == clip).all()


async def test_commentary_makes_the_agent_speak_first(tmp_path: Path) -> None:
    async with speaking(tmp_path, audio={"format": {"type": "audio/pcm", "rate": 24_000}}) as caller:
        await caller.connection.session.input_audio.mute()
        await caller.until("session.input_audio.muted")
        await caller.connection.session.commentary.append(content="Good morning", delegation_id=None)
        await caller.until_said("It says Good morning.")
        assert not caller.transcript("input"), "the caller is muted"


async def test_sideband_sees_the_session_and_has_the_agent_speak(tmp_path: Path) -> None:
    async with speaking(tmp_path) as caller:
        session_id = caller.events[0]["session"]["id"]
        sdk = AsyncOpenAI(api_key="none", base_url=caller.base_url)
        async with sdk.live.sideband.connect(session_id=session_id) as connection:
            sideband = LiveCaller(connection)
            await sideband.until("session.started")
            await connection.session.commentary.append(content="Good morning", delegation_id=None)
            await sideband.until("session.commentary.appended")
            await sideband.until("session.output_audio.delta")
            await caller.until("session.output_audio.delta")
