"""A caller on a speakerphone, in a call: the agent's voice comes back, and is not the caller's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from audio.synthesizers.espeak import EspeakSynthesizer
from llmcore.engine import Delta, Request
from voiceagent.bench.loudspeaker import Loudspeaker
from voiceagent.bench.people.virtual_time import run_virtually
from voiceagent.bench.speakerphone import Speakerphone
from voiceagent.bench.spoken_over import SpokenOver, speak_over
from voiceagent.bench.voiced import trimmed
from voiceagent.conversation import events as ev
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.conversation.config import AgentConfig
from voiceagent.engines.hosted import hosted
from voiceagent.session.config import EchoConfig
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.session import Session
from voiceagent.session.set_phrases import make_phrase
from voiceagent.transports.local_call import FORMAT, FRAME_S, PacedSound, speak

pytest.importorskip("livekit.rtc", reason="livekit is not installed (extra: echo)")
pytest.importorskip("espeakng_loader", reason="espeak-ng is not installed (extra: espeak)")

SENTENCES = "Welcome to the house by the lake.", "Breakfast is served from seven to ten in the garden room."
TALK = "So I went to the station yesterday with my sister and her dog because the"
TALK_S = 4.0
OBJECTION = "Wait, what about parking?"
BACKCHANNELS = AgentConfig().backchannel_phrases
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


class Listening(Ears):
    """Understands talk once it has heard nearly all of it: earlier pauses are short."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        heard_s = 0.0
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(TALK if heard_s > TALK_S else "", settled=True)
            else:
                heard_s += len(item) / 16_000


class Brain:
    """Has nothing to say."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta(finish_reason="stop")

    async def prefill(self, request: Request) -> None: ...


class Mouth:
    """Has everything said by espeak-ng beforehand: by the clock of a call it takes no time."""

    def __init__(self, rate_hz: int, made: dict[str, list[Speech]]) -> None:
        self.rate_hz = rate_hz
        self._made = made

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        for speech in self._made[text]:
            yield speech


@pytest.fixture(scope="module")
def mouth() -> Mouth:
    async def speaks() -> Mouth:
        espeak = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
        await espeak.start()
        try:
            texts = (*SENTENCES, AgentConfig().apology, OBJECTION, TALK, *BACKCHANNELS)
            return Mouth(espeak.rate_hz, {text: [one async for one in espeak.speak(text)] for text in texts})
        finally:
            await espeak.close()

    return asyncio.run(speaks())


def call(mouth: Mouth, cancel: bool, says: str = "", after_s: float = 0.0) -> SpokenOver:
    """The agent's greeting on a speakerphone, spoken over with `says`; by the clock of the sound, so that no
    frame is late on a busy machine: the canceller would have to find such an echo again.
    """

    async def spoken_over() -> SpokenOver:
        agent, echo = AgentConfig(greeting=" ".join(SENTENCES), filler=""), EchoConfig(cancel=cancel)
        clock = asyncio.get_running_loop().time
        services = await call_services(Ears(), Brain(), mouth, agent=agent, echo=echo, clock=clock)
        sound = trimmed(await speak(mouth, says), FORMAT.rate_hz) if says else np.zeros(0, np.int16)
        return await speak_over(services, sound, after_s, MAX_S, telephone=Speakerphone)

    return run_virtually(spoken_over())


def test_without_cancellation_the_agent_interrupts_itself(mouth: Mouth):
    assert call(mouth, cancel=False).status == "cancelled"


def test_with_it_the_agent_speaks_to_its_end(mouth: Mouth):
    assert call(mouth, cancel=True).status == "completed"


def test_the_caller_can_still_interrupt(mouth: Mouth):
    over = call(mouth, cancel=True, says=OBJECTION, after_s=3.0)
    assert over.status == "cancelled" and over.loudspeaker.silent_s(over.voice_s) is not None


class Caller(FakeClient):
    """On a speakerphone; keeps what the call takes for speech. said: the samples of all backchannels."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self.loudspeaker = Loudspeaker(FRAME_S)
        self.said = 0
        self.speech: list[tuple[str, float]] = []

    def play(self, response_id: str, frame: Samples) -> None:
        self.loudspeaker.play(frame, self._clock())
        self.said += 0 if response_id else len(frame)

    def on_event(self, event: CallEvent) -> None:
        turns = (ev.SpeechStarted, ev.SpeechPaused, ev.SpeechResumed, ev.TurnEnded)
        if isinstance(event, EventHandled) and isinstance(event.event, turns):
            self.speech.append((type(event.event).__name__, round(event.event.at_s, 1)))


def talk_to(mouth: Mouth, cancel: bool, use: str = "all") -> Caller:
    """The caller talks and stops in the middle of a sentence. With cancellation after a greeting, by which
    the canceller learns the echo.
    """

    async def talked() -> Caller:
        agent, echo = (
            AgentConfig(greeting=" ".join(SENTENCES) if cancel else "", filler=""),
            EchoConfig(cancel=cancel),
        )
        clock = asyncio.get_running_loop().time
        services = await call_services(Listening(), Brain(), mouth, agent=agent, echo=echo, clock=clock)
        phrases = tuple([await make_phrase(text, "en", mouth) for text in BACKCHANNELS])
        services = replace(services, speaking=replace(services.speaking, backchannels=phrases))
        changes = {"input_format": FORMAT, "output_format": FORMAT, "backchannels": use}
        caller = Caller(clock)
        settings = replace(services.settings, **changes)
        session = Session("call_1", services, settings, caller, Subscriptions((caller,), None))
        microphone = Speakerphone(caller.loudspeaker, FORMAT.rate_hz)

        def hear(frame: Samples) -> None:
            session.hear(microphone.hear(frame, line.at_s - len(frame) / FORMAT.rate_hz))

        line = PacedSound(hear, clock)
        session.begin()
        await line.send(np.zeros(8 * FORMAT.rate_hz, np.int16))
        caller.speech.clear()
        await line.send(trimmed(await speak(mouth, TALK), FORMAT.rate_hz))
        await line.send(np.zeros(round(1.4 * FORMAT.rate_hz), np.int16))
        await session.close("test over")
        return caller

    return run_virtually(talked())


def test_with_it_no_backchannel_is_taken_for_the_callers_voice(mouth: Mouth):
    caller, wanted = talk_to(mouth, cancel=True), talk_to(mouth, cancel=True, use="off")
    assert caller.said and not wanted.said
    assert caller.speech == wanted.speech, "it is what the caller said, without the agent's part"


def test_without_cancellation_a_backchannel_comes_back(mouth: Mouth):
    assert talk_to(mouth, cancel=False).speech != talk_to(mouth, cancel=False, use="off").speech
