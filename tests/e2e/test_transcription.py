"""Transcription sessions through the unmodified `openai` SDK and over WebRTC, with recorded human speech."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from fixed_config import write_config
from openai import AsyncOpenAI
from recordings import recorded
from rtc_caller import RATE_HZ, rtc_calling
from sdk_caller import SdkCaller
from served import lent, served

ENGINES = """
from pathlib import Path

from served_engines import FixedLlm, FixedSynthesizer

ASKED = Path(__file__).with_name("asked.txt")


def note(what):
    with ASKED.open("a") as asked:
        asked.write(what + "\\n")


class NotingLlm(FixedLlm):
    async def generate(self, request):
        note("generate")
        async for delta in super().generate(request):
            yield delta

    async def prefill(self, request):
        note("prefill")


class NotingSynthesizer(FixedSynthesizer):
    async def speak(self, text):
        note("speak")
        async for speech in super().speak(text):
            yield speech
"""
"""Engines that record each request."""
SERVER_VAD = {"type": "server_vad", "silence_duration_ms": 300}
LOGPROBS = "item.input_audio_transcription.logprobs"
EVENTS = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    "conversation.item.input_audio_transcription.completed",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_noting(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("noting")
    (folder / "noting_engines.py").write_text(ENGINES)
    config = write_config(
        folder,
        FixedLlm="noting_engines:NotingLlm",
        FixedSynthesizer="noting_engines:NotingSynthesizer",
    )
    async with served(config) as address:
        await _prepared(asked := folder / "asked.txt")
        yield address, asked


async def _prepared(asked: Path) -> None:
    """Wait until the server has prepared its phrases: no request for two seconds."""
    requests = None
    while (now := asked.read_text()) != requests:  # noqa: ASYNC240
        requests = now
        await asyncio.sleep(2.0)


@pytest.fixture
async def noting(shared_noting: tuple[str, Path]) -> AsyncIterator[str]:
    """Yield the address of a server whose LLM and voice must get no request."""
    address, asked = shared_noting
    before = asked.read_text()
    async with lent(address):
        yield address
    assert asked.read_text() == before


@asynccontextmanager
async def transcribing(
    address: str, key: str = "none", query: dict[str, str] | None = None, **session: Any
) -> AsyncIterator[SdkCaller]:
    sdk = AsyncOpenAI(api_key=key, base_url=f"http://{address}/v1")
    async with sdk.realtime.connect(extra_query=query or {}) as connection:
        caller = SdkCaller(connection)
        listening = asyncio.create_task(caller.listen())
        try:
            if session:
                update: Any = {"type": "transcription", **session}
                await connection.session.update(session=update)
                await caller.until("session.updated")
            yield caller
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        caller.check()


INTENT = {"intent": "transcription"}


async def test_each_turn_is_an_item_with_its_transcript(noting: str) -> None:
    audio = {
        "input": {"turn_detection": SERVER_VAD, "transcription": {"model": "whisper-1", "language": "en"}}
    }
    async with transcribing(noting, query=INTENT, audio=audio, include=[LOGPROBS]) as caller:
        assert caller.events[0]["session"]["type"] == "transcription"
        for number in (1, 2):
            await caller.speak(recorded("goforward.wav", 24_000), silence_s=1.0)
            completed = await caller.until(EVENTS[-1], number)
            assert completed["transcript"] == "Could you help me with something?"
            assert completed["usage"]["type"] == "duration" and completed["usage"]["seconds"] > 0
            assert completed["logprobs"] is None, "the fixed recognizer knows of none"
        kinds = [event["type"] for event in caller.events if event["type"] in EVENTS]
        assert kinds == EVENTS * 2
        items = [event["item_id"] for event in caller.of(EVENTS[-1])]
        assert items == [event["item_id"] for event in caller.of("input_audio_buffer.committed")]
        assert caller.of("input_audio_buffer.committed")[1]["previous_item_id"] == items[0]
        assert not caller.of("response.created")


async def test_a_turn_may_be_committed_by_hand(noting: str) -> None:
    async with transcribing(noting, query=INTENT, audio={"input": {"turn_detection": None}}) as caller:
        await caller.speak(recorded("goforward.wav", 24_000), silence_s=0)
        await caller.connection.input_audio_buffer.commit()
        await caller.until(EVENTS[-1])
        assert not caller.of("input_audio_buffer.speech_started")


async def test_responses_are_refused_and_the_session_goes_on(noting: str) -> None:
    async with transcribing(noting, query=INTENT) as caller:
        await caller.connection.response.create()
        error = (await caller.until("error"))["error"]
        assert "this is a transcription session" in error["message"]
        await caller.speak(recorded("goforward.wav", 24_000))
        await caller.until(EVENTS[-1])


async def test_a_session_becomes_one_by_its_update(noting: str) -> None:
    async with transcribing(noting, audio={"input": {"turn_detection": SERVER_VAD}}) as caller:
        assert caller.events[0]["session"]["type"] == "realtime"
        assert caller.events[1]["session"]["type"] == "transcription"
        await caller.speak(recorded("goforward.wav", 24_000))
        await caller.until(EVENTS[-1])


@pytest.mark.parametrize("way", ["WebSocket", "WebRTC", "WebRTC with a form"])
async def test_a_client_secret_s_session_transcribes(noting: str, way: str) -> None:
    sdk = AsyncOpenAI(api_key="none", base_url=f"http://{noting}/v1")
    session: Any = {"type": "transcription", "audio": {"input": {"turn_detection": SERVER_VAD}}}
    secret = await sdk.realtime.client_secrets.create(session=session)
    assert secret.session.type == "transcription"
    if way == "WebSocket":
        async with transcribing(noting, secret.value) as caller:
            await caller.speak(recorded("goforward.wav", 24_000))
            await caller.until(EVENTS[-1])
        return
    given = session if way == "WebRTC with a form" else None
    key = "none" if way == "WebRTC with a form" else secret.value
    async with rtc_calling(noting, given, authorization=f"Bearer {key}") as rtc:
        assert rtc.of("session.created")[0]["session"]["type"] == "transcription"
        silence = np.zeros(RATE_HZ, np.int16)
        await rtc.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), silence]))
        await rtc.until(EVENTS[-1])
        assert [event["type"] for event in rtc.events if event["type"] in EVENTS] == EVENTS
