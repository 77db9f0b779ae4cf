"""Backchannels of the agent that come back from a speakerphone are not the caller's voice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient
from yielding.stop_engines import PreparedVoice, SilentLlm, StopRecognizer

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers.espeak import EspeakSynthesizer
from tests.voiceagent.session.test_echo import SENTENCES
from voiceagent.bench.speech import trimmed
from voiceagent.conversation import events as ev
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.engines.hosted import hosted
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.config import EchoConfig
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.session import Session
from voiceagent.session.set_phrases import make_phrase
from voiceagent.transports.local_call import FORMAT, PacedSound, speak

pytestmark = pytest.mark.usefixtures("livekit_runtime")
TALK = "So I went to the station yesterday with my sister and her dog because the"
TALK_S = 4.0
BACKCHANNELS = AgentConfig().backchannel_phrases


@pytest.fixture(name="mouth", scope="module")
def a_mouth() -> PreparedVoice:
    async def speaks() -> PreparedVoice:
        espeak = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
        await espeak.start()
        try:
            texts = (*SENTENCES, AgentConfig().apology, TALK, *BACKCHANNELS)
            made = {text: [one async for one in espeak.speak(text)] for text in texts}
            return PreparedVoice(espeak.rate_hz, made)
        finally:
            await espeak.close()

    return asyncio.run(speaks())


class Listening(StopRecognizer):
    """Understands talk once it has heard nearly all of it: earlier pauses are short."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        heard_s = 0.0
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(TALK if heard_s > TALK_S else "", settled=True)
            else:
                heard_s += len(item) / 16_000


class Caller(FakeClient):
    """On a speakerphone; keeps what the call takes for speech. said: the samples of all backchannels."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._played = np.zeros(30 * FORMAT.rate_hz)
        self._played_to = 0
        self.said = 0
        self.speech: list[tuple[str, float]] = []

    def play(self, response_id: str, frame: Samples) -> None:
        begin = max(self._played_to, round(self._clock() * FORMAT.rate_hz))
        self._played_to = begin + len(frame)
        self._played[begin : self._played_to] = frame
        self.said += 0 if response_id else len(frame)

    def microphone(self, voice: Samples, from_s: float) -> Samples:
        """Return the caller's voice with the echo: direct, and from a wall."""
        heard = voice.astype(float)
        for delay_s, gain in ((0.07, 1 / 3), (0.11, 1 / 8)):
            begin = max(0, round((from_s - delay_s) * FORMAT.rate_hz))
            heard += gain * self._played[begin : begin + len(voice)]
        return np.clip(np.rint(heard), -32_768, 32_767).astype(np.int16)

    def on_event(self, event: CallEvent) -> None:
        turns = (ev.SpeechStarted, ev.SpeechPaused, ev.SpeechResumed, ev.TurnEnded)
        if isinstance(event, EventHandled) and isinstance(event.event, turns):
            self.speech.append((type(event.event).__name__, round(event.event.at_s, 1)))


def talk_to(mouth: PreparedVoice, cancel: bool, use: str = "all", sound: str = "") -> Caller:
    """The caller talks and stops in the middle of a sentence. With cancellation after a greeting, by which
    the canceller learns the echo. sound: played in the background.
    """

    async def talked() -> Caller:
        agent, echo = (
            AgentConfig(greeting=" ".join(SENTENCES) if cancel else "", filler=""),
            EchoConfig(cancel=cancel),
        )
        clock = asyncio.get_running_loop().time
        services = await call_services(Listening(), SilentLlm(), mouth, agent=agent, echo=echo, clock=clock)
        phrases = tuple([await make_phrase(text, "en", mouth) for text in BACKCHANNELS])
        services = replace(services, speaking=replace(services.speaking, backchannels=phrases))
        changes = {"input_format": FORMAT, "output_format": FORMAT, "backchannels": use}
        caller = Caller(clock)
        settings = replace(services.settings, **changes)
        session = Session("call_1", services, settings, caller, Subscriptions((caller,), None))

        def hear(frame: Samples) -> None:
            session.hear(caller.microphone(frame, line.at_s - len(frame) / FORMAT.rate_hz))

        line = PacedSound(hear, clock)
        session.begin()
        if sound:
            session.start_sound(sound, 1.0)
        await line.send(np.zeros(8 * FORMAT.rate_hz, np.int16))
        caller.speech.clear()
        await line.send(trimmed(await speak(mouth, TALK), FORMAT.rate_hz))
        await line.send(np.zeros(round(1.4 * FORMAT.rate_hz), np.int16))
        await session.close("test over")
        return caller

    return run_virtually(talked())


def test_with_it_no_backchannel_is_taken_for_the_callers_voice(mouth: PreparedVoice):
    caller, wanted = talk_to(mouth, cancel=True), talk_to(mouth, cancel=True, use="off")
    assert caller.said and not wanted.said
    assert caller.speech == wanted.speech, "it is what the caller said, without the agent's part"


def test_with_it_music_beside_speech_is_not_taken_for_the_callers_voice(mouth: PreparedVoice):
    music, wanted = (talk_to(mouth, cancel=True, use="off", sound=sound) for sound in ("hold", ""))
    assert music.said > 5 * FORMAT.rate_hz, "the music fills the time in which nobody speaks"
    assert [kind for kind, _ in music.speech] == [kind for kind, _ in wanted.speech]
    for (kind, at_s), (_, wanted_s) in zip(music.speech, wanted.speech, strict=True):
        assert abs(at_s - wanted_s) <= 0.1, kind


def test_without_cancellation_a_backchannel_comes_back(mouth: PreparedVoice):
    assert talk_to(mouth, cancel=False).speech != talk_to(mouth, cancel=False, use="off").speech
