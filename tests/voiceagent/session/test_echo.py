"""A caller on a speakerphone, in a call: the agent's voice comes back, and is not the caller's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np
import pytest
from call_services import call_services

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers.espeak import EspeakSynthesizer
from llmcore.engine import Delta, Request
from voiceagent.bench.speakerphone import Speakerphone
from voiceagent.bench.spoken_over import SpokenOver, speak_over
from voiceagent.bench.voiced import trimmed
from voiceagent.conversation.config import AgentConfig
from voiceagent.engines.hosted import hosted
from voiceagent.session.config import EchoConfig
from voiceagent.transports.local_call import FORMAT, speak

pytest.importorskip("livekit.rtc", reason="livekit is not installed (extra: echo)")
pytest.importorskip("espeakng_loader", reason="espeak-ng is not installed (extra: espeak)")

GREETING = "Welcome to the house by the lake. Breakfast is served from seven to ten in the garden room."
MAX_S = 15.0


@pytest.fixture(scope="module", autouse=True)
def livekit_runtime():
    """End livekit's runtime while Python lives: its threads call back, and abort a process that is
    finalizing.
    """
    yield
    from livekit.rtc._ffi_client import FfiClient  # noqa: PLC0415  an optional extra

    FfiClient.instance._dispose()


class Ears:
    """Understands "stop" whatever voice it hears."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("stop", settled=True)


class Brain:
    """Has nothing to say."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta(finish_reason="stop")

    async def prefill(self, request: Request) -> None: ...


async def call(cancel: bool, says: str = "", after_s: float = 0.0) -> SpokenOver:
    """The agent's greeting on a speakerphone, spoken over with `says`."""
    agent, echo = AgentConfig(greeting=GREETING, filler=""), EchoConfig(cancel=cancel)
    mouth = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
    await mouth.start()
    try:
        services = await call_services(Ears(), Brain(), mouth, agent=agent, echo=echo)
        sound = trimmed(await speak(mouth, says), FORMAT.rate_hz) if says else np.zeros(0, np.int16)
        return await speak_over(services, sound, after_s, MAX_S, telephone=Speakerphone)
    finally:
        await mouth.close()


async def test_without_cancellation_the_agent_interrupts_itself():
    assert (await call(cancel=False)).status == "cancelled"


async def test_with_it_the_agent_speaks_to_its_end():
    assert (await call(cancel=True)).status == "completed"


async def test_the_caller_can_still_interrupt():
    over = await call(cancel=True, says="Wait, what about parking?", after_s=3.0)
    assert over.status == "cancelled" and over.loudspeaker.silent_s(over.voice_s) is not None
