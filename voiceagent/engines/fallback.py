"""A recognizer or synthesizer with a fallback that takes over if it fails, at its start or later.

Like the LLM's fallback: a circuit breaker stops requests to an engine that keeps failing, and lets single
utterances or texts probe it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Generic, Literal, TypeVar

import numpy as np
import structlog

from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    Hypothesis,
    Recognizer,
    RecognizerError,
    in_pieces,
    recognize_expecting,
)
from audio.recognizers.look_ahead_buffer import LookAheadBuffer
from audio.resample import Resampler
from audio.synthesizers import (
    Speech,
    Synthesizer,
    SynthesizerError,
    WordTiming,
    known_voices,
    speak_with,
    takes_speed,
)
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from llmcore.policies.circuit_breaker import CircuitBreaker
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout

log = structlog.get_logger()

FailureReason = Literal["error", "timeout", "circuit_open"]
"""Reason that the primary did not serve: it failed, timed out, or the circuit breaker blocks it."""

_Engine = TypeVar("_Engine", bound=Recognizer | Synthesizer)

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10
_WAITING_PIECES = 200
"""Buffered pieces (20 s) beyond which the caller's iterator is paused."""
_NO_AUDIO: Samples = np.zeros(0, np.int16)


class _FallbackEngine(Generic[_Engine]):
    """A primary engine and its fallback.

    stage: name in the log. timeout_s: longest silence of the primary. count: called for each utterance or
    text that the primary did not complete. Both engines are started, as loading the fallback on demand would
    be too slow.
    """

    def __init__(
        self,
        stage: str,
        primary: _Engine,
        fallback: _Engine,
        breaker: CircuitBreaker,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[FailureReason], None] = lambda _: None,
    ) -> None:
        self.primary = primary
        self.fallback = fallback
        self._stage = stage
        self._breaker = breaker
        self._timeout_s = timeout_s
        self._clock = clock
        self._count = count
        self._start_error = ""

    @property
    def problem(self) -> str:
        """Reason that the primary gets no requests; "" if it gets them."""
        if self._start_error:
            return f"it did not start, and the fallback stands in until a restart: {self._start_error}"
        if self._breaker.state == "closed":
            return ""
        wait_s = self._breaker.wait_s(self._clock())
        return f"it keeps failing, and the fallback stands in; it is tried again in {wait_s:.1f} s"

    async def start(self) -> None:
        """Start both engines concurrently. A primary that fails is logged, and the fallback serves alone.

        Raises the fallback's error.
        """
        primary, fallback = await asyncio.gather(
            self.primary.start(), self.fallback.start(), return_exceptions=True
        )
        if isinstance(fallback, BaseException):
            raise fallback
        if isinstance(primary, RecognizerError | SynthesizerError):
            self._on_start_failure(primary)
        elif isinstance(primary, BaseException):
            raise primary

    def _on_start_failure(self, error: Exception) -> None:
        """Leave the primary out. A remote one keeps its requests: its server may come back."""
        log.error("speech_engine_start_failed", stage=self._stage, reason=str(error))
        if not getattr(self.primary, "in_workers", False):
            self._start_error = str(error)

    async def close(self) -> None:
        """Close both engines; a second call does nothing."""
        await asyncio.gather(self.primary.close(), self.fallback.close())

    def _on_success(self) -> None:
        if self._breaker.state != "closed":
            log.warning("speech_engine_recovered", stage=self._stage)
        self._breaker.record_success()

    def _allows_primary(self) -> bool:
        """Return True if the primary runs and the circuit breaker lets this request through to it."""
        allowed = not self._start_error and self._breaker.allows(self._clock())
        if not allowed:
            self._count("circuit_open")
        return allowed

    def _on_failure(self, error: Exception, timeout_text: str) -> None:
        timed_out = isinstance(error, TimeoutError)
        reason = timeout_text if timed_out else str(error)
        self._count("timeout" if timed_out else "error")
        before, now_s = self._breaker.state, self._clock()
        self._breaker.record_failure(now_s)
        log.warning("speech_fallback", stage=self._stage, reason=reason)
        if self._breaker.state == "open" and before != "open":
            log.error("speech_engine_circuit_open", stage=self._stage, wait_s=self._breaker.wait_s(now_s))


class FallbackRecognizer(_FallbackEngine[Recognizer]):
    """A recognizer whose fallback repeats the whole utterance if `primary` fails or is late for a flush."""

    takes_expected = True
    """Each engine gets what is expected, as far as it uses it."""

    async def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech = NOTHING_EXPECTED
    ) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance with the primary or the fallback. Raises RecognizerError."""
        async with LookAheadBuffer(in_pieces(sound, _PIECE_SAMPLES), _WAITING_PIECES) as ahead:
            utterance = _RecordedUtterance(ahead, self._timeout_s, expected)
            if self._allows_primary():
                reported = False
                try:
                    async with aclosing(utterance.recognize_with(self.primary)) as hypotheses:
                        async for hypothesis in hypotheses:
                            if hypothesis.settled:
                                reported = True
                                self._on_success()
                            yield hypothesis
                    return
                except (RecognizerError, TimeoutError) as error:
                    reported = True
                    self._on_failure(error, f"no words within {self._timeout_s:.3g} s")
                finally:
                    if not reported:
                        self._breaker.record_cancelled()
            utterance.limit_s = None
            async with aclosing(utterance.recognize_with(self.fallback)) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis


class _RecordedUtterance:
    """Audio of one utterance, kept so that another engine can recognize it from its beginning.

    limit_s: time limit for the answer to a flush; None for no limit. expected: see `recognize_expecting`.
    """

    def __init__(
        self, ahead: LookAheadBuffer[Samples | Flush], limit_s: float | None, expected: ExpectedSpeech
    ) -> None:
        self.limit_s = limit_s
        self._expected = expected
        self._ahead = ahead
        self._items: list[Samples | Flush] = []
        self._unanswered_flushes = 0
        self._ended = False
        self._timeout: PauseTolerantTimeout | None = None

    async def recognize_with(self, recognizer: Recognizer) -> AsyncGenerator[Hypothesis, None]:
        """Yield an engine's hypotheses of the whole utterance. Raises RecognizerError, TimeoutError."""
        async with aclosing(recognize_expecting(recognizer, self._sound(), self._expected)) as hypotheses:
            while True:
                try:
                    async with PauseTolerantTimeout() as self._timeout:
                        self._start_time_limit()
                        hypothesis = await anext(hypotheses, None)
                finally:
                    self._timeout = None
                if hypothesis is None:
                    return
                if hypothesis.settled:
                    self._on_flush_answered()
                yield hypothesis

    async def _sound(self) -> AsyncGenerator[Samples | Flush, None]:
        for kept in list(self._items):
            yield kept
        while not self._ended:
            item = await self._ahead.next()
            self._ended = item is None
            if item is None or isinstance(item, Flush):
                self._unanswered_flushes += 1
                self._start_time_limit()
            if item is not None:
                self._items.append(item)
                yield item

    def _on_flush_answered(self) -> None:
        """Drop the oldest flush, which has its transcript and is not repeated."""
        self._unanswered_flushes -= 1
        for index, item in enumerate(self._items):
            if isinstance(item, Flush):
                del self._items[index]
                return

    def _start_time_limit(self) -> None:
        if self._timeout is not None and self.limit_s is not None and self._unanswered_flushes > 0:
            self._timeout.set_limit(self.limit_s)


class FallbackSynthesizer(_FallbackEngine[Synthesizer]):
    """A synthesizer whose fallback speaks if `primary` fails or is late before its first audio.

    A later failure is raised: half a text is not repeated in another voice.
    """

    rate_hz: int
    """Sample rate, known once started: the primary's if that started. Audio of the fallback is resampled."""
    takes_speed = False
    known_voices = KnownVoices()
    """As the engine whose rate it is; each engine resolves the names that clients ask for."""

    async def start(self) -> None:
        """Start both engines concurrently. Raises the fallback's SynthesizerError."""
        await super().start()
        used = self.fallback if self._start_error else self.primary
        self.rate_hz, self.takes_speed = used.rate_hz, takes_speed(used)
        self.known_voices = known_voices(used).as_asked()

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment with the primary or the fallback. Raises SynthesizerError."""
        if self._allows_primary():
            reported = begun = False
            try:
                async with aclosing(speak_with(self.primary, text, settings)) as speeches:
                    async with PauseTolerantTimeout(self._timeout_s):
                        speech = await anext(speeches, None)
                    reported = begun = True
                    self._on_success()
                    while speech is not None:
                        yield speech
                        speech = await anext(speeches, None)
                return
            except (SynthesizerError, TimeoutError) as error:
                reported = True
                self._on_failure(error, f"no sound within {self._timeout_s:.3g} s")
                if begun:
                    raise
            finally:
                if not reported:
                    self._breaker.record_cancelled()
        async with aclosing(self._speak_with_fallback(text, settings)) as speeches:
            async for speech in speeches:
                yield speech

    async def _speak_with_fallback(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        from_hz, to_hz = self.fallback.rate_hz, self.rate_hz
        resampler = Resampler(from_hz, to_hz)
        async with aclosing(speak_with(self.fallback, text, settings)) as speeches:
            async for speech in speeches:
                words = tuple(
                    WordTiming(word.character, round(word.at_samples * to_hz / from_hz))
                    for word in speech.words
                )
                yield Speech(resampler.push(speech.samples), words)
        rest = resampler.push(_NO_AUDIO, last=True)
        if len(rest):
            yield Speech(rest)
