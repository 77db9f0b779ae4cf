"""Speech engines with another behind them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pytest
from clock import Clock
from scripted_llm import ScriptedLlm
from sounds import chunks, recognized
from speaking import spoken
from structlog.testing import capture_logs

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from voiceagent.engines.engines import Engines
from voiceagent.engines.fallback import FallbackRecognizer, FallbackSynthesizer
from voiceagent.engines.own import RecognizerEngine, SynthesizerEngine

T = TypeVar("T")
SOUND: Samples = np.full(8_000, 500, np.int16)


@dataclass
class Ears(RecognizerEngine):
    """Reports the number of samples of each utterance. fails_after: flushes; silent: never answers;
    answers: the event that it waits for before it answers.
    """

    name: str
    fails_after: int | None = None
    silent: bool = False
    answers: asyncio.Event | None = None
    heard: list[int] = field(default_factory=list)

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        flushes, index = 0, len(self.heard)
        self.heard.append(0)
        async for item in sound:
            if not isinstance(item, Flush):
                self.heard[index] += len(item)
                continue
            if self.silent:
                await asyncio.Event().wait()
            if self.answers is not None:
                await self.answers.wait()
            if self.fails_after == flushes:
                raise RecognizerError(f"{self.name} is gone")
            flushes += 1
            yield Hypothesis(f"{self.name} {self.heard[index]}", settled=True)
        yield Hypothesis(f"{self.name} {self.heard[index]}", settled=True)


@dataclass
class Voice(SynthesizerEngine):
    """A tone of 0.1 s a word. fails_after: words; silent: no sound ever comes; answers: none before that.
    starts: False for one that fails at its start.
    """

    rate_hz: int
    fails_after: int | None = None
    silent: bool = False
    answers: asyncio.Event | None = None
    starts: bool = True
    texts: list[str] = field(default_factory=list)

    async def start(self) -> None:
        if not self.starts:
            raise SynthesizerError(f"no voice at {self.rate_hz} Hz")

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        self.texts.append(text)
        if self.silent:
            await asyncio.Event().wait()
        if self.answers is not None:
            await self.answers.wait()
        for number, _ in enumerate(text.split()):
            if number == self.fails_after:
                raise SynthesizerError("no voice")
            samples = self.rate_hz // 10
            word = WordTiming(text.index(text.split()[number]), number * samples)
            yield Speech(np.full(samples, self.rate_hz // 100, np.int16), (word,))


def breaker() -> CircuitBreaker:
    return CircuitBreaker(2, Backoff(1.0, 8.0), lambda: 1.0)


def two_ears(
    first: Ears, clock: Clock | None = None, count: Callable[[str], None] = lambda _: None
) -> tuple[FallbackRecognizer, Ears]:
    second = Ears("second")
    both = FallbackRecognizer("recognizer", first, second, breaker(), 0.05, clock or Clock(0.0), count)
    return both, second


async def two_voices(
    first: Voice, clock: Clock | None = None, count: Callable[[str], None] = lambda _: None
) -> tuple[FallbackSynthesizer, Voice]:
    second = Voice(8_000)
    both = FallbackSynthesizer("synthesizer", first, second, breaker(), 0.05, clock or Clock(0.0), count)
    await both.start()
    return both, second


async def words(recognizer: FallbackRecognizer, *parts: Samples | Flush) -> list[str]:
    return [hypothesis.text for hypothesis in await recognized(recognizer, chunks(*parts))]


async def test_the_second_hears_nothing_while_the_first_does() -> None:
    both, second = two_ears(Ears("first"))
    assert await words(both, SOUND, Flush(), SOUND) == ["first 8000", "first 16000"]
    assert second.heard == []


async def test_the_second_hears_the_whole_utterance_where_the_first_breaks_off() -> None:
    both, second = two_ears(Ears("first", fails_after=1))
    heard = await words(both, SOUND, Flush(), SOUND, Flush(), SOUND)
    assert heard == ["first 8000", "second 16000", "second 24000"], "a flush is answered once"
    assert second.heard == [24_000]


async def test_the_second_hears_where_the_first_does_not_answer_in_time() -> None:
    both, _ = two_ears(Ears("first", silent=True))
    assert await words(both, SOUND, Flush()) == ["second 8000", "second 8000"]


async def after_a_pause(asked: Coroutine[None, None, T], answers: asyncio.Event) -> T:
    """Return the answer that comes after the whole process stopped for longer than an engine may take."""
    asking = asyncio.create_task(asked)
    for _ in range(5):
        await asyncio.sleep(0)  # until it waits
    time.sleep(0.1)  # noqa: ASYNC251
    for _ in range(3):
        await asyncio.sleep(0)
    answers.set()
    return await asking


async def test_a_pause_of_the_process_is_no_failure_of_the_first() -> None:
    answers = asyncio.Event()
    ears, _ = two_ears(Ears("first", answers=answers))
    assert await after_a_pause(words(ears, SOUND, Flush()), answers) == ["first 8000"] * 2
    answers = asyncio.Event()
    voices, second = await two_voices(Voice(16_000, answers=answers))
    assert await after_a_pause(spoken(voices, "hello"), answers)
    assert second.texts == []


async def test_a_caller_who_rests_is_no_failure_of_the_first() -> None:
    both, second = two_ears(Ears("first"))

    async def sound() -> AsyncIterator[Samples | Flush]:
        yield SOUND
        yield Flush()
        await asyncio.sleep(0.2)

    assert [hypothesis.text async for hypothesis in both.recognize(sound())] == ["first 8000"] * 2
    assert second.heard == []


async def test_an_utterance_that_nobody_wants_is_no_failure() -> None:
    both, _ = two_ears(Ears("first"))
    for _ in range(3):
        async with aclosing(both.recognize(chunks(SOUND, Flush(), SOUND))) as hypotheses:
            await anext(hypotheses)
    assert both.problem == ""


async def test_a_first_that_keeps_failing_is_left_alone_and_tried_again() -> None:
    clock = Clock(0.0)
    first = Ears("first", fails_after=0)
    both, _ = two_ears(first, clock)
    for _ in range(4):
        await words(both, SOUND, Flush())
    assert len(first.heard) == 2
    assert "the fallback stands in; it is tried again in 1.0 s" in both.problem
    first.fails_after = None
    clock.now_s = 1.1
    assert await words(both, SOUND) == ["first 8000"]
    assert both.problem == ""


async def test_the_second_speaks_where_the_first_cannot() -> None:
    both, second = await two_voices(Voice(16_000, fails_after=0))
    speeches = await spoken(both, "good evening")
    assert second.texts == ["good evening"]
    assert sum(len(speech.samples) for speech in speeches) == pytest.approx(3_200, abs=4), (
        "at the rate of the first"
    )
    timings = [word for speech in speeches for word in speech.words]
    assert timings == [WordTiming(0, 0), WordTiming(5, 1_600)]


async def test_the_second_speaks_where_the_first_has_no_sound_in_time() -> None:
    both, second = await two_voices(Voice(16_000, silent=True))
    assert await spoken(both, "good evening")
    assert second.texts == ["good evening"]


async def test_half_a_text_is_not_said_again() -> None:
    both, second = await two_voices(Voice(16_000, fails_after=1))
    with pytest.raises(SynthesizerError, match="no voice"):
        await spoken(both, "good evening")
    assert second.texts == []


async def test_a_voice_that_keeps_failing_is_left_alone_and_tried_again() -> None:
    clock = Clock(0.0)
    first = Voice(16_000, fails_after=0)
    both, second = await two_voices(first, clock)
    for _ in range(3):
        await spoken(both, "hello")
    assert (len(first.texts), len(second.texts)) == (2, 3)
    first.fails_after, clock.now_s = None, 1.1
    await spoken(both, "hello")
    assert (len(first.texts), len(second.texts), both.problem) == (3, 3, "")


async def test_primary_that_does_not_start_leaves_the_fallback_alone() -> None:
    reasons: list[str] = []
    first = Voice(16_000, starts=False)
    with capture_logs() as logged:
        both, second = await two_voices(first, count=reasons.append)
        speeches = await spoken(both, "good evening")
    assert [(line["event"], line["reason"]) for line in logged] == [
        ("speech_engine_start_failed", "no voice at 16000 Hz")
    ]
    assert both.rate_hz == second.rate_hz and sum(len(speech.samples) for speech in speeches) == 1_600
    assert first.texts == [] and "no voice at 16000 Hz" in both.problem
    assert reasons == ["circuit_open"]


async def test_each_engine_resolves_the_voice_that_was_asked_for() -> None:
    @dataclass
    class Adjustable(Voice):
        takes_speed = True
        asked: list[VoiceSettings] = field(default_factory=list)

        async def speak(
            self, text: str, settings: VoiceSettings = USUAL_SETTINGS
        ) -> AsyncGenerator[Speech, None]:
            self.asked.append(settings)
            async for speech in super().speak(text):
                yield speech

    first, second = Adjustable(16_000, fails_after=0), Adjustable(8_000)
    first.known_voices = KnownVoices(("joe",), aliases={"marin": "joe"})
    second.known_voices = KnownVoices(("en", "de"), aliases={"": "en", "marin": "de"})
    both = FallbackSynthesizer("synthesizer", first, second, breaker(), 0.05)
    await both.start()
    for name in ("marin", "joe"):
        assert both.takes_speed and both.known_voices.has(name)
        assert await spoken(both, "hello", VoiceSettings(name, 1.5))
    assert first.asked == [VoiceSettings("joe", 1.5)] * 2
    assert second.asked == [VoiceSettings("de", 1.5), VoiceSettings("en", 1.5)]


async def test_remote_primary_that_does_not_start_is_tried_again() -> None:
    class Remote(Voice):
        in_workers = True

    first = Remote(16_000, starts=False)
    both, second = await two_voices(first)
    await spoken(both, "good evening")
    assert (both.rate_hz, first.texts, second.texts) == (16_000, ["good evening"], [])


async def test_fallback_that_does_not_start_is_an_error() -> None:
    second = Voice(8_000, starts=False)
    both = FallbackSynthesizer("synthesizer", Voice(16_000), second, breaker(), 0.05)
    with pytest.raises(SynthesizerError, match="no voice at 8000 Hz"):
        await both.start()


async def test_the_server_is_told_of_a_first_that_is_left_alone() -> None:
    both, _ = two_ears(Ears("first", fails_after=0))
    engines = Engines(both, ScriptedLlm(), (await two_voices(Voice(16_000)))[0])
    assert engines.problems() == {}
    for _ in range(2):
        await words(both, SOUND, Flush())
    assert engines.problems().keys() == {"recognizer"}


async def test_what_the_first_does_not_do_is_counted_by_why() -> None:
    reasons: list[str] = []
    ears, _ = two_ears(Ears("first", fails_after=0), count=reasons.append)
    for _ in range(3):
        await words(ears, SOUND, Flush())
    assert reasons == ["error", "error", "circuit_open"]
    late, _ = await two_voices(Voice(16_000, silent=True), count=reasons.append)
    await spoken(late, "good evening")
    assert reasons[3:] == ["timeout"]
