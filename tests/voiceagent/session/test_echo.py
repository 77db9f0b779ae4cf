"""A caller on a speakerphone, in a call: the agent's voice comes back, and is not the caller's."""

from __future__ import annotations

import asyncio
from typing import Literal

import numpy as np
import pytest
from call_services import call_services
from yielding.speakerphone import Speakerphone
from yielding.spoken_over import SpokenOver, speak_over
from yielding.stop_engines import PreparedVoice, SilentLlm, StopRecognizer

from audio.echo import EchoCanceller, EchoError
from audio.synthesizers.espeak import EspeakSynthesizer
from voiceagent.bench.speech import trimmed
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.engines.hosted import hosted
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session import echo_control
from voiceagent.session.config import EchoConfig
from voiceagent.transports.local_call import FORMAT, speak

pytest.importorskip("livekit.rtc", reason="livekit is not installed (extra: echo)")
pytestmark = pytest.mark.usefixtures("livekit_runtime")
pytest.importorskip("espeakng_loader", reason="espeak-ng is not installed (extra: espeak)")

SENTENCES = "Welcome to the house by the lake.", "Breakfast is served from seven to ten in the garden room."
OBJECTION = "Wait, what about parking?"
MAX_S = 15.0


@pytest.fixture(scope="module")
def mouth() -> PreparedVoice:
    async def speaks() -> PreparedVoice:
        espeak = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
        await espeak.start()
        try:
            texts = (*SENTENCES, AgentConfig().apology, OBJECTION)
            return PreparedVoice(
                espeak.rate_hz, {text: [one async for one in espeak.speak(text)] for text in texts}
            )
        finally:
            await espeak.close()

    return asyncio.run(speaks())


def call(
    mouth: PreparedVoice, cancel: bool | Literal["auto"], says: str = "", after_s: float = 0.0
) -> SpokenOver:
    """The agent's greeting on a speakerphone, spoken over with `says`; by the clock of the sound, so that no
    frame is late on a busy machine: the canceller would have to find such an echo again.
    """

    async def spoken_over() -> SpokenOver:
        agent, echo = AgentConfig(greeting=" ".join(SENTENCES), filler=""), EchoConfig(cancel=cancel)
        clock = asyncio.get_running_loop().time
        services = await call_services(
            StopRecognizer(), SilentLlm(), mouth, agent=agent, echo=echo, clock=clock
        )
        sound = trimmed(await speak(mouth, says), FORMAT.rate_hz) if says else np.zeros(0, np.int16)
        return await speak_over(services, sound, after_s, MAX_S, telephone=Speakerphone)

    return run_virtually(spoken_over())


def test_without_cancellation_the_agent_interrupts_itself(mouth: PreparedVoice):
    assert call(mouth, cancel=False).status == "cancelled"


@pytest.mark.parametrize("cancel", [True, "auto"])
def test_with_it_the_agent_speaks_to_its_end(mouth: PreparedVoice, cancel: bool | Literal["auto"]):
    assert call(mouth, cancel).status == "completed"


def test_without_a_canceller_an_echo_is_dropped_where_it_is_measured(
    mouth: PreparedVoice, monkeypatch: pytest.MonkeyPatch
):
    def missing(*_: object) -> EchoCanceller:
        raise EchoError("not installed")

    monkeypatch.setattr(echo_control, "EchoCanceller", missing)
    assert call(mouth, cancel="auto").status == "completed"


@pytest.mark.parametrize("cancel", [True, "auto"])
def test_the_caller_can_still_interrupt(mouth: PreparedVoice, cancel: bool | Literal["auto"]):
    over = call(mouth, cancel, says=OBJECTION, after_s=3.0)
    assert over.status == "cancelled" and over.loudspeaker.silent_s(over.voice_s) is not None
