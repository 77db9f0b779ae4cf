"""A whole call whose inference pauses: the engines count their work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings, turn_detection
from fake_client import FakeClient
from sounds import said

from audio.pcm import AudioFormat, Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis
from llmcore.engine import Delta, Request
from tests.voiceagent.session.test_session import Brain, Mouth
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.settings import CallSettings, InferencePause
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.session import Session

HZ = SAMPLE_RATE_HZ
FRAME = HZ // 50
IDLE_S = 5.0
SPEAKS_S = 10.0
SETTINGS = call_settings(input_format=AudioFormat.PCM_16K, turn_detection=turn_detection("semantic_vad"))


@dataclass
class Counted:
    """Work of a call's engines, and what its client was told."""

    client: FakeClient = field(default_factory=FakeClient)
    recognized: list[Samples] = field(default_factory=list)
    judged: int = 0
    llm_requests: int = 0

    @property
    def work(self) -> tuple[int, int, int]:
        """Recognized pieces of audio, queries of the turn model, requests to the LLM."""
        return len(self.recognized), self.judged, self.llm_requests

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("Go forward ten meters.", settled=True)
            else:
                self.recognized.append(item)

    async def complete(self, sound: Samples) -> float:
        self.judged += 1
        return 1.0


class CountingBrain(Brain):
    """Counts prefills too."""

    def __init__(self, counted: Counted) -> None:
        super().__init__()
        self._counted = counted

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self._counted.llm_requests += 1
        return super().generate(request)

    async def prefill(self, request: Request) -> None:
        self._counted.llm_requests += 1


def call(voice: Samples, pause: InferencePause | None, settings: CallSettings = SETTINGS) -> Counted:
    """Run a call of 20 s in which the caller speaks after 10 s."""

    async def run() -> Counted:
        loop, counted = asyncio.get_running_loop(), Counted()
        services = await call_services(counted, CountingBrain(counted), Mouth(), clock=loop.time)
        services = replace(services, hearing=replace(services.hearing, turn_model=counted))
        session = Session("call_1", services, replace(settings, pause=pause), counted.client)
        session.begin()
        sound = np.zeros(round(20 * HZ), np.int16)
        begin = round(SPEAKS_S * HZ)
        sound[begin : begin + len(voice)] = voice
        for at in range(0, len(sound), FRAME):
            await asyncio.sleep(max(0.0, (at + FRAME) / HZ - loop.time()))
            session.hear(sound[at : at + FRAME])
        await session.close("test over")
        return counted

    return run_virtually(run(), 0.0)


@pytest.fixture(name="voice", scope="module")
def a_voice() -> Samples:
    return asyncio.run(said("Go forward ten meters."))


def test_no_engine_works_for_a_voice_below_the_threshold(voice: Samples) -> None:
    counted = call(voice, InferencePause(IDLE_S, 1.0))
    assert counted.work == (0, 0, 0)
    assert len(counted.client.of(notify.NotifyInferencePaused)) == 1
    assert not counted.client.of(notify.NotifyInferenceResumed)


def test_paused_call_loses_no_first_word(voice: Samples) -> None:
    counted, whole = call(voice, InferencePause(IDLE_S)), call(voice, None)
    assert counted.client.of(notify.NotifyInferenceResumed)
    recognized, wanted = np.concatenate(counted.recognized), np.concatenate(whole.recognized)
    assert np.array_equal(recognized, wanted), "it is what a call without pauses recognizes"
    assert counted.judged == whole.judged > 0
    assert counted.llm_requests == whole.llm_requests > 0


def test_call_pauses_again_after_the_answer(voice: Samples) -> None:
    counted = call(voice, InferencePause(2.0))
    kinds = (notify.NotifyInferencePaused, notify.NotifyInferenceResumed, notify.NotifyResponseEnded)
    told = [type(one) for one in counted.client.notifications if isinstance(one, kinds)]
    paused, resumed, ended = kinds
    assert told == [paused, resumed, ended, paused]
