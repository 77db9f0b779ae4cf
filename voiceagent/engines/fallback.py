"""A recognizer or synthesizer with another behind it: who hears and speaks when the first cannot.

As the LLM's fallback: a circuit breaker leaves an engine alone that keeps failing, and lets one utterance or
text at a time try it again.
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
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, Recognizer, RecognizerError, in_pieces
from audio.recognizers.look_ahead_buffer import LookAheadBuffer
from audio.resample import Resampler
from audio.synthesizers import Speech, Synthesizer, SynthesizerError, WordTiming, speak_at, takes_speed
from llmcore.policies.circuit_breaker import CircuitBreaker
from llmcore.serving.patience import Patience

log = structlog.get_logger()

FailureReason = Literal["error", "timeout", "circuit_open"]
"""Why the primary did not serve: it failed, was late, or is left alone for now."""

_Engine = TypeVar("_Engine", bound=Recognizer | Synthesizer)

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10
_WAITING_PIECES = 200
"""20 s may wait before the caller's iterator is held back."""
_NO_SOUND: Samples = np.zeros(0, np.int16)


class _WithFallback(Generic[_Engine]):
    """A primary engine, and one that stands in for it. stage: their name in the log. timeout_s: how long the
    primary may be silent when it is asked. count: told of each utterance or text that the primary did not
    take to its end.

    primary, fallback: both are started, as a fallback that had to be loaded first would come too late.
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

    @property
    def trouble(self) -> str:
        """Why the primary is not asked now; "" where it is."""
        if self._breaker.state == "closed":
            return ""
        wait_s = self._breaker.wait_s(self._clock())
        return f"it keeps failing, and the fallback stands in; it is tried again in {wait_s:.1f} s"

    async def start(self) -> None:
        """Start both at once. Raises the error of either."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.primary.start())
                group.create_task(self.fallback.start())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def close(self) -> None:
        """Close both; a second call does nothing."""
        await asyncio.gather(self.primary.close(), self.fallback.close())

    def _succeeded(self) -> None:
        if self._breaker.state != "closed":
            log.warning("speech_engine_back", stage=self._stage)
        self._breaker.succeeded()

    def _allowed(self) -> bool:
        """Whether the primary is asked this time."""
        allowed = self._breaker.allows(self._clock())
        if not allowed:
            self._count("circuit_open")
        return allowed

    def _failed(self, error: Exception, late: str) -> None:
        timed_out = isinstance(error, TimeoutError)
        reason = late if timed_out else str(error)
        self._count("timeout" if timed_out else "error")
        before, now_s = self._breaker.state, self._clock()
        self._breaker.failed(now_s)
        log.warning("speech_fallback", stage=self._stage, reason=reason)
        if self._breaker.state == "open" and before != "open":
            log.error("speech_engine_left_alone", stage=self._stage, wait_s=self._breaker.wait_s(now_s))


class FallbackRecognizer(_WithFallback[Recognizer]):
    """Has `primary` hear; where it fails in mid-utterance, `fallback` hears all of it.

    It fails too where it does not answer a flush in time.
    """

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance with whichever can. Raises RecognizerError."""
        async with LookAheadBuffer(in_pieces(sound, _PIECE_SAMPLES), _WAITING_PIECES) as ahead:
            utterance = _KeptUtterance(ahead, self._timeout_s)
            if self._allowed():
                known = False
                try:
                    async with aclosing(utterance.heard_by(self.primary)) as hypotheses:
                        async for hypothesis in hypotheses:
                            if hypothesis.settled:
                                known = True
                                self._succeeded()
                            yield hypothesis
                    return
                except (RecognizerError, TimeoutError) as error:
                    known = True
                    self._failed(error, f"no words within {self._timeout_s:.3g} s")
                finally:
                    if not known:
                        self._breaker.abandoned()
            utterance.limit_s = None
            async with aclosing(utterance.heard_by(self.fallback)) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis


class _KeptUtterance:
    """One utterance whose sound is kept, so that another engine can hear it from its beginning.

    limit_s: how long an engine may take to answer a flush; None for no limit.
    """

    def __init__(self, ahead: LookAheadBuffer[Samples | Flush], limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._ahead = ahead
        self._kept: list[Samples | Flush] = []
        self._flushes = 0  # that are not answered
        self._ended = False
        self._patience: Patience | None = None

    async def heard_by(self, recognizer: Recognizer) -> AsyncGenerator[Hypothesis, None]:
        """What an engine makes of all of it. Raises RecognizerError, TimeoutError."""
        async with aclosing(recognizer.recognize(self._sound())) as hypotheses:
            while True:
                try:
                    async with Patience() as self._patience:
                        self._be_impatient()
                        hypothesis = await anext(hypotheses, None)
                finally:
                    self._patience = None
                if hypothesis is None:
                    return
                if hypothesis.settled:
                    self._answered()
                yield hypothesis

    async def _sound(self) -> AsyncGenerator[Samples | Flush, None]:
        for kept in list(self._kept):
            yield kept
        while not self._ended:
            item = await self._ahead.next()
            self._ended = item is None
            if item is None or isinstance(item, Flush):
                self._flushes += 1
                self._be_impatient()
            if item is not None:
                self._kept.append(item)
                yield item

    def _answered(self) -> None:
        """The oldest flush that is kept has its words, and is not asked again."""
        self._flushes -= 1
        for index, item in enumerate(self._kept):
            if isinstance(item, Flush):
                del self._kept[index]
                return

    def _be_impatient(self) -> None:
        if self._patience is not None and self.limit_s is not None and self._flushes > 0:
            self._patience.limit(self.limit_s)


class FallbackSynthesizer(_WithFallback[Synthesizer]):
    """Has `primary` speak; where it fails before its first sound, or that takes too long, `fallback` speaks.

    A failure after that is raised: half a text is not said again in another voice.
    """

    rate_hz: int
    """The rate of the primary's sound, known once started; the fallback's sound is resampled to it."""

    async def start(self) -> None:
        """Start both at once. Raises SynthesizerError."""
        await super().start()
        self.rate_hz = self.primary.rate_hz

    @property
    def takes_speed(self) -> bool:
        """As the primary does."""
        return takes_speed(self.primary)

    async def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Speech, None]:
        """Speak one fragment with whichever can. Raises SynthesizerError."""
        if self._allowed():
            known = begun = False
            try:
                async with aclosing(speak_at(self.primary, text, speed)) as speeches:
                    async with Patience(self._timeout_s):
                        speech = await anext(speeches, None)
                    known = begun = True
                    self._succeeded()
                    while speech is not None:
                        yield speech
                        speech = await anext(speeches, None)
                return
            except (SynthesizerError, TimeoutError) as error:
                known = True
                self._failed(error, f"no sound within {self._timeout_s:.3g} s")
                if begun:
                    raise
            finally:
                if not known:
                    self._breaker.abandoned()
        async with aclosing(self._in_the_other_voice(text, speed)) as speeches:
            async for speech in speeches:
                yield speech

    async def _in_the_other_voice(self, text: str, speed: float) -> AsyncGenerator[Speech, None]:
        from_hz, to_hz = self.fallback.rate_hz, self.rate_hz
        resampler = Resampler(from_hz, to_hz)
        async with aclosing(speak_at(self.fallback, text, speed)) as speeches:
            async for speech in speeches:
                words = tuple(
                    WordTiming(word.character, round(word.at_samples * to_hz / from_hz))
                    for word in speech.words
                )
                yield Speech(resampler.push(speech.samples), words)
        rest = resampler.push(_NO_SOUND, last=True)
        if len(rest):
            yield Speech(rest)
