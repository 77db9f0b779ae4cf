"""The unmodified `openai` SDK holds Live sessions with a server that was started as users start it."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from kept_folder import store_of
from live_types import proved
from openai import APIStatusError, AsyncOpenAI
from recordings import recorded, recording
from review_engines import ANSWER, BACK, CORRECTION, FRONT
from served import serving_tools

from voiceagent.calls.continuing import continued, find_ended
from voiceagent.conversation.history import MessageItem

FRAME = 480
SPEAKING = 75
"""Frames until the middle of the caller's words."""
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
PATIENCE_S = 60.0
QUIET_S = 4.0
"""Time in which a second telling would begin."""
KEPT = '[calls]\nfolder = "./kept"\n'


class LiveCaller:
    """A caller of one session; every event is proved."""

    def __init__(self, connection: Any, base_url: str = "") -> None:
        self.connection = connection
        self.base_url = base_url
        self.events: list[dict[str, Any]] = []
        self.frames = 0

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
            self.frames += 1
            await asyncio.sleep(0.02)


@asynccontextmanager
async def speaking(
    folder: Path, llm: str = "live_engine:LiveLlm", more: str = "", **config: Any
) -> AsyncIterator[LiveCaller]:
    """Yield a caller who is speaking in a session with this configuration. llm, more: see `serving_tools`."""
    recording("goforward.wav")  # skips here, not in a task, where it is missing
    async with serving_tools(folder, llm, more) as address:
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


async def test_model_without_words_delegates_and_its_caller_hears_the_result_as_it_is(tmp_path: Path) -> None:
    async with speaking(tmp_path, "live_engine:SpeechlessLlm") as caller:
        created = await caller.until("session.delegation.created")
        append = caller.connection.session.commentary.append
        await append(content="It is sunny, 21 degrees.", delegation_id=created["delegation"]["id"])
        await caller.until_said("It is sunny, 21 degrees.")
        assert "Sorry" not in caller.transcript("output")
        assert "forecast" not in caller.transcript("output")


async def test_client_with_a_wrong_id_and_two_answers_loses_neither(tmp_path: Path) -> None:
    async with speaking(tmp_path) as caller:
        created = await caller.until("session.delegation.created")
        append = caller.connection.session.commentary.append
        await append(content="stormy", delegation_id="delegation_none", event_id="e1")
        refused = await caller.until("error")
        assert (refused["error"]["code"], refused["error"]["param"]) == (
            "delegation_not_found",
            "delegation_id",
        )
        await append(content="sunny", delegation_id=created["delegation"]["id"])
        await append(content="windy", delegation_id=created["delegation"]["id"])
        await caller.until_said("It says windy.")
        assert "It says sunny." in caller.transcript("output")


async def test_delegation_outlives_a_connection_that_the_sdk_replaces(tmp_path: Path) -> None:
    recording("goforward.wav")
    place: dict[str, str] = {}
    async with serving_tools(tmp_path, "live_engine:LiveLlm") as address:
        live = AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1").live
        async with live.connect(
            extra_query={"resume_s": "30"}, on_reconnecting=lambda _: {"extra_query": place}
        ) as connection:
            caller = LiveCaller(connection)
            await connection.session.start(session={"model": "gpt-live-1"})
            place["session_id"] = (await caller.until("session.started"))["session"]["id"]
            talk = asyncio.create_task(caller.speak())
            created = await caller.until("session.delegation.created")
            place["after"] = created["event_id"]
            connection._connection.transport.abort()
            said = ""
            async with asyncio.timeout(PATIENCE_S):
                async for event in connection:  # unlike `recv`, it connects again
                    if event.type == "session.output_transcript.delta":
                        if not said:
                            about = {"content": "sunny", "delegation_id": created["delegation"]["id"]}
                            await connection.session.commentary.append(**about)
                        said += event.delta
                    if "It says sunny." in said:
                        break
            await talk


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


async def test_larger_llm_behind_the_front_withdraws_what_it_said_wrongly(tmp_path: Path) -> None:
    delegation = {"type": "responses", "responses": {"model": "gpt-5"}}
    async with speaking(tmp_path, FRONT, BACK, delegation=delegation) as caller:
        await caller.until_said(CORRECTION)
        withdrawn, bridge, _ = caller.transcript("output").partition("Sorry, let me correct that.")
        assert bridge and withdrawn.strip() and ANSWER.startswith(withdrawn.strip())
        assert len(withdrawn) < len(ANSWER) / 2


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


async def test_commentary_while_the_caller_speaks_is_told_once_in_the_answer(tmp_path: Path) -> None:
    async with speaking(tmp_path) as caller:
        append = caller.connection.session.commentary.append
        while caller.frames < SPEAKING:  # noqa: ASYNC110  sending has no event
            await asyncio.sleep(0.01)
        await append(content="sunny", delegation_id=None)
        await caller.until_said("It says sunny.")
        assert caller.transcript("input"), "the caller was answered"
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await caller.until_said("It says sunny. It says sunny.")
        assert caller.transcript("output") == "It says sunny."


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


@asynccontextmanager
async def keeping(folder: Path, more: str = KEPT) -> AsyncIterator[AsyncOpenAI]:
    """Yield the SDK for a server that keeps calls."""
    async with (
        serving_tools(folder, "live_engine:LiveLlm", more) as address,
        AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1", max_retries=0) as sdk,
    ):
        yield sdk


async def stored_session(sdk: AsyncOpenAI) -> str:
    """Hold a session with a delegated question. Return its id."""
    recording("goforward.wav")
    async with sdk.live.connect() as connection:
        caller = LiveCaller(connection)
        await connection.session.start(session={"model": "gpt-live-1", "store": True})
        session_id: str = (await caller.until("session.started"))["session"]["id"]
        talk = asyncio.create_task(caller.speak())
        about = (await caller.until("session.delegation.created"))["delegation"]
        await connection.session.commentary.append(content="sunny", delegation_id=about["id"])
        await caller.until_said("It says sunny.")
        await talk
        await connection.session.close()
        await caller.until("session.closed")
    return session_id


async def until_kept(folder: Path, session_id: str) -> tuple[str, ...]:
    """Return the texts of a session once it is kept."""
    store = store_of(folder / "kept")
    async with asyncio.timeout(PATIENCE_S):
        while (call := find_ended(store, session_id)) is None:  # noqa: ASYNC110  the archiver has no event
            await asyncio.sleep(0.1)
    store.close()
    items = (await asyncio.to_thread(continued, call)).items
    return tuple(item.text for item in items if isinstance(item, MessageItem))


async def replays(sdk: AsyncOpenAI, session_id: str) -> bool:
    """Return True if the kept session replays byte by byte."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(str(sdk.base_url.join(f"calls/{session_id}/replay")))
    return answer.json()["same"] is True


async def test_stored_session_is_downloaded_forked_and_replayed(tmp_path: Path) -> None:
    async with keeping(tmp_path) as sdk:
        session_id = await stored_session(sdk)
        said = await until_kept(tmp_path, session_id)
        assert said[-1] == "It says sunny."
        recording = await sdk.live.sessions.download_recording(session_id)
        with wave.open(io.BytesIO(recording.content)) as file:
            both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        assert all(np.abs(side).max() > 1000 for side in both.T), "both sides are heard"

        async with sdk.live.forks.connect(session_id=session_id) as connection:
            caller = LiveCaller(connection)
            await connection.session.start(session={})
            fork_id = (await caller.until("session.started"))["session"]["id"]
            await connection.session.commentary.append(content="Good morning", delegation_id=None)
            await caller.until_said("It says Good morning.")
            await connection.session.close()
            await caller.until("session.closed")
        forked = await until_kept(tmp_path, fork_id)
        assert forked[: len(said)] == said, "the fork continues the conversation"
        assert forked[-1].startswith("It says Good"), "as far as it was played"
        assert await replays(sdk, session_id)
        assert await replays(sdk, fork_id)


async def test_session_without_store_is_not_kept(tmp_path: Path) -> None:
    async with keeping(tmp_path) as sdk:
        ids = []
        for store in (None, False, True):
            async with sdk.live.connect() as connection:
                caller = LiveCaller(connection)
                given = {} if store is None else {"store": store}
                await connection.session.start(session={"model": "gpt-live-1", **given})  # type: ignore[typeddict-item]
                ids.append((await caller.until("session.started"))["session"]["id"])
                await connection.session.close()
                await caller.until("session.closed")
        await until_kept(tmp_path, ids[-1])
        for session_id in ids[:2]:
            with pytest.raises(APIStatusError) as caught:
                await sdk.live.sessions.download_recording(session_id)
            assert caught.value.status_code == 404


async def test_server_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    async with keeping(tmp_path, "") as sdk:
        with pytest.raises(APIStatusError) as caught:
            await sdk.live.sessions.download_recording("live_1")
        assert (caught.value.status_code, caught.value.code) == (404, "not_kept")
        with pytest.raises(APIStatusError) as caught:
            await sdk.live.sessions.fork("live_1", transport={"type": "webrtc", "sdp": "v=0"})
        assert (caught.value.status_code, caught.value.code) == (404, "not_kept")
        with pytest.raises(APIStatusError) as caught:
            await sdk.live.sessions.refer("live_1", target_uri="tel:+14155550123")
        assert caught.value.code == "not_supported"


async def test_sidebands_and_hangup_reach_a_session_of_another_worker(tmp_path: Path) -> None:
    """Connections are in either worker: of six, some are in the session's and some are not."""
    async with keeping(tmp_path, "[server]\nworkers = 2\n") as sdk, sdk.live.connect() as connection:
        caller = LiveCaller(connection)
        await connection.session.start(session={"model": "gpt-live-1"})
        session_id = (await caller.until("session.started"))["session"]["id"]
        for number in range(6):
            async with sdk.live.sideband.connect(session_id=session_id) as attached:
                sideband = LiveCaller(attached)
                await sideband.until("session.started")
                event_id = f"e{number}"
                await attached.session.input_audio.mute(event_id=event_id)
                await sideband.until("session.input_audio.muted", client_event_id=event_id)
                await caller.until("session.input_audio.muted", client_event_id=event_id)
        await sdk.live.sessions.hangup(session_id)
        assert (await caller.until("session.closed"))["reason"] == "close_requested"
