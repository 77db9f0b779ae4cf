"""Recognizers whose model does not stream: the growing utterance is decoded repeatedly, in threads.

For models that release the GIL while they compute, as CTranslate2's and onnxruntime's do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    Hypothesis,
    RecognizerError,
    in_pieces,
)
from audio.recognizers.decoding.growing_window import GrowingWindow, Segment, wordless_samples
from audio.recognizers.look_ahead_buffer import LookAheadBuffer
from audio.recognizers.second_opinion import SecondModel, SecondOpinion, WholeUtterance, lower_priority

_T = TypeVar("_T")

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10  # equal pieces, so that their number measures the backlog
_MAX_WAITING_PIECES = 200
"""Backlog of 20 s, after which the caller's iterator is not read."""

Decode = Callable[[Samples, str, Event, Flush | None], list[Segment]]
"""Decodes the window of one utterance, 16 kHz. Blocks.

Arguments: the window, the text before it, an event that stops the decoding early once set, and the flush to
answer (None for a partial hypothesis).
"""


class DecodingModel(Protocol):
    """A loaded model."""

    def open(self) -> Decode:
        """Return the function that decodes one utterance repeatedly while it grows."""
        ...


class ExpectingModel(Protocol):
    """A loaded model that uses knowledge of each utterance."""

    def open_in(self, expected: ExpectedSpeech) -> Decode:
        """Return the function that decodes one utterance of which this is known."""
        ...


class RedecodingRecognizer:
    """Decodes each utterance's growing window.

    Settled hypotheses are awaited, so they are decoded at once. Partial ones have time: they are decoded if a
    worker would be idle (of several workers, one is reserved), in low-priority threads.

    Args:
        name: of the recognizer, for errors.
        load: loads the model, in a thread; raises RecognizerError.
        step_s: new audio that triggers another decoding; more in proportion if utterances outnumber workers.
        longest_s: maximum window; a longer one is cut where its text is stable.
        workers: concurrent decodings.
        load_second: loads the model of second opinions, None for none. The last hypothesis of an utterance
            whose audio has ended is its second opinion, unless other utterances are decoded then.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], DecodingModel],
        step_s: float,
        longest_s: float,
        workers: int,
        load_second: Callable[[], SecondModel] | None = None,
    ) -> None:
        if step_s <= 0:
            raise ValueError(f"step_s is {step_s}; allowed: over 0")
        if workers < 1:
            raise ValueError(f"workers is {workers}; allowed: 1 or more")
        self.takes_expected = False
        """True if the model is an `ExpectingModel`."""
        self._name = name
        self._load = load
        self._second = None if load_second is None else SecondOpinion(load_second)
        self._step_s = step_s
        self._longest_s = longest_s
        self._workers = workers
        self._model: DecodingModel | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._partial_pool: ThreadPoolExecutor | None = None  # for partial hypotheses
        self._utterances = 0  # those that grow
        self._running: set[asyncio.Future[Any]] = set()

    async def start(self) -> None:
        """Load the model, downloading it if needed, and decode once to warm up.

        Raises:
            RecognizerError: the model cannot be loaded.
        """
        if self._pool is not None:
            return
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=self._name)
        self._partial_pool = ThreadPoolExecutor(
            self._max_partial, thread_name_prefix=f"{self._name} low priority", initializer=lower_priority
        )
        try:
            model = await self._in_thread(self._load)
            warm_up = partial(model.open(), np.zeros(SAMPLE_RATE_HZ, np.int16), "", Event(), None)
            await self._in_thread(warm_up)
            if self._second is not None:
                await self._second.start()
        except BaseException:
            await self.close()
            raise
        self._model = model

    async def close(self) -> None:
        """Release the model after running decodings; a second call does nothing."""
        pools = self._pool, self._partial_pool
        self._pool = self._partial_pool = self._model = None
        await asyncio.gather(*self._running, return_exceptions=True)
        for pool in pools:
            if pool is not None:
                pool.shutdown()
        if self._second is not None:
            await self._second.close()

    async def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech = NOTHING_EXPECTED
    ) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance.

        Args:
            sound: audio and flushes.
            expected: see `ExpectingRecognizer`.

        Yields:
            Hypotheses; see `Recognizer`.

        Raises:
            RecognizerError: not started, closed, or the model failed.
        """
        if self._model is None:
            raise RecognizerError(f"{self._name}: not started, or closed")
        whole = WholeUtterance()
        async with self._open_utterance(_open(self._model, expected), sound) as utterance:
            while (piece := await utterance.ahead.next()) is not None:
                if self._second is not None:
                    whole.push(piece)
                self._count(utterance, growing=True)
                hypothesis = await self._process_piece(utterance, piece)
                if isinstance(piece, Flush):
                    self._count(utterance, growing=bool(utterance.ahead.waiting))
                if hypothesis is not None:
                    yield hypothesis
            self._count(utterance, growing=False)
            yield await self._last_hypothesis(utterance, whole, expected)

    async def _last_hypothesis(
        self, utterance: _Utterance, whole: WholeUtterance, expected: ExpectedSpeech
    ) -> Hypothesis:
        """Return the hypothesis of an utterance that is over, by the second model if there is one and no
        other utterance is being decoded.
        """
        last = await self._settle(utterance, Flush())
        if self._second is None or self._running:
            return last
        text = await self._second.of(whole, expected, last)
        return replace(last, text=text, stable=text)

    @asynccontextmanager
    async def _open_utterance(
        self, decode: Decode, sound: AsyncIterator[Samples | Flush]
    ) -> AsyncGenerator[_Utterance, None]:
        canceller = _PartialCanceller(lambda: self._utterances_per_worker > 1)
        pieces = canceller.watch(in_pieces(sound, _PIECE_SAMPLES))
        async with LookAheadBuffer(pieces, _MAX_WAITING_PIECES) as ahead:
            window = GrowingWindow(self._step_s, self._longest_s)
            utterance = _Utterance(decode, window, canceller, ahead, reported=Hypothesis(""))
            self._count(utterance, growing=True)
            try:
                yield utterance
            finally:
                self._count(utterance, growing=False)

    def _count(self, utterance: _Utterance, growing: bool) -> None:
        """Count an utterance that grows; not one in a pause, which needs no partial hypotheses."""
        self._utterances += growing - utterance.growing
        utterance.growing = growing

    async def _process_piece(self, utterance: _Utterance, piece: Samples | Flush) -> Hypothesis | None:
        if isinstance(piece, Flush):
            return await self._settle(utterance, piece)
        window = utterance.window
        window.push_audio(piece)
        must_wait = utterance.ahead.waiting or len(self._running) >= self._max_partial
        if must_wait or not window.is_due(self._utterances_per_worker):
            return None
        if not await self._decode(utterance, None):
            return None
        hypothesis = _hypothesis(window, settled=False)
        if hypothesis == utterance.reported:
            return None
        utterance.reported = hypothesis
        return hypothesis

    async def _settle(self, utterance: _Utterance, flush: Flush) -> Hypothesis:
        """Answer a flush."""
        # partial hypotheses are decoded without expecting anything
        if flush.is_special or utterance.window.is_changed(flush.silence_s):
            await self._decode(utterance, flush)
        utterance.reported = _hypothesis(utterance.window, settled=True)
        return utterance.reported

    @property
    def _utterances_per_worker(self) -> float:
        return self._utterances / self._workers

    @property
    def _max_partial(self) -> int:
        return max(1, self._workers - 1)

    async def _decode(self, utterance: _Utterance, flush: Flush | None) -> bool:
        """Decode the window. Return False if it was abandoned for newer audio. Only a partial
        hypothesis, without a flush, is ever abandoned.
        """
        window, decode = utterance.window, utterance.decode
        sound, prompt = window.take_window(), window.prompt
        abandoned = utterance.canceller.begin() if flush is None else Event()

        def unless_abandoned() -> list[Segment]:
            return [] if abandoned.is_set() else decode(sound, prompt, abandoned, flush)

        try:
            segments = await self._in_thread(unless_abandoned, low_priority=flush is None)
            if abandoned.is_set():
                window.mark_undecoded()
                return False
            window.on_decoded(segments)
            return True
        finally:
            abandoned.set()

    async def _in_thread(self, work: Callable[[], _T], low_priority: bool = False) -> _T:
        """Run `work` in a thread and return its result. Its exceptions become RecognizerError."""
        pool = self._partial_pool if low_priority else self._pool
        if pool is None:
            raise RecognizerError(f"{self._name}: not started, or closed")

        def unless_closed() -> _T:
            if pool not in (self._pool, self._partial_pool):
                raise RecognizerError(f"{self._name}: closed")
            return work()

        future = asyncio.get_running_loop().run_in_executor(pool, unless_closed)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(future)  # `close` waits for it even if the caller is cancelled
        except RecognizerError:
            raise
        except Exception as error:  # each library has exceptions of its own
            raise RecognizerError(f"{self._name}: {type(error).__name__}: {error}") from error


def _open(model: DecodingModel, expected: ExpectedSpeech) -> Decode:
    return model.open() if expected == NOTHING_EXPECTED else cast("ExpectingModel", model).open_in(expected)


def _hypothesis(window: GrowingWindow, settled: bool) -> Hypothesis:
    return Hypothesis(
        window.text, window.stable, settled, window.confidence, window.complete, window.languages
    )


@dataclass(slots=True)
class _Utterance:
    """State of one utterance.

    canceller: cancels its partial decodings. ahead: undecoded audio. reported: the last hypothesis yielded.
    growing: it is counted as one that gets audio.
    """

    decode: Decode
    window: GrowingWindow
    canceller: _PartialCanceller
    ahead: LookAheadBuffer[Samples | Flush]
    reported: Hypothesis
    growing: bool = False


class _PartialCanceller:
    """Abandons the decoding of a partial hypothesis when a flush would have to wait for it.

    That is the case if the flush covers more than silence after the decoded audio, or expects something.
    Otherwise the decoding in progress yields the answer; but if callers share a worker it is slow, as its
    thread has low priority, so it is abandoned for any new audio.

    shared: returns True if callers share a worker.
    """

    def __init__(self, shared: Callable[[], bool]) -> None:
        self._shared = shared
        self._abandoned = Event()
        self._samples = self._new_samples = 0  # samples of the utterance; samples since the decoding began

    def begin(self) -> Event:
        """Return the event that abandons the next decoding."""
        self._abandoned, self._new_samples = Event(), 0
        return self._abandoned

    async def watch(
        self, sound: AsyncGenerator[Samples | Flush, None]
    ) -> AsyncGenerator[Samples | Flush, None]:
        """Pass the audio through, watching for flushes."""
        async with aclosing(sound):
            async for item in sound:
                if not isinstance(item, Flush):
                    self._samples += len(item)
                    self._new_samples += len(item)
                else:
                    silence_s = 0.0 if self._shared() else item.silence_s
                    if item.is_special or self._new_samples > wordless_samples(silence_s, self._samples):
                        self._abandoned.set()
                yield item
