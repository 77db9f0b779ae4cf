"""Recognizers whose model does not stream: the growing utterance is decoded again and again, in threads.

For models that release the GIL while they compute, as CTranslate2's and onnxruntime's do.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Protocol, TypeVar

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError, in_pieces
from audio.recognizers.decoding.growing_window import GrowingWindow, Segment, wordless_samples
from audio.recognizers.look_ahead_buffer import LookAheadBuffer

_T = TypeVar("_T")

_NICENESS = 10
"""The niceness of a thread that decodes words on their way: beside one that is waited for it gets a tenth of
the time."""

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10  # so that the number of pieces says how much waits
_WAITING_PIECES = 200
"""20 s may wait to be decoded before the caller's iterator is held back."""

Decode = Callable[[Samples, str, Event, Flush | None], list[Segment]]
"""Decodes the window of one utterance, 16 kHz, that follows the words given, and stops early once the event
is set. Given what asks for it; None for words on their way. Blocks."""


class DecodingModel(Protocol):
    """A loaded model."""

    def open(self) -> Decode:
        """What decodes one utterance, again and again while it grows."""
        ...


class RedecodingRecognizer:
    """Decodes each utterance's growing window.

    name: in errors. load: loads the model, in a thread; raises RecognizerError. step_s: new sound that makes
    a new decoding worthwhile, more in proportion where there are more utterances than workers. longest_s: of
    the window, past which it is cut where its words are stable. workers: decodings at once. Settled words are
    waited for, and are decoded as they are asked for; others have time: they are decoded where a worker would
    be idle, of two or more never in place of the last, in threads that yield to the rest of the process.
    """

    def __init__(
        self, name: str, load: Callable[[], DecodingModel], step_s: float, longest_s: float, workers: int
    ) -> None:
        if step_s <= 0:
            raise ValueError(f"step_s is {step_s}; allowed: over 0")
        if workers < 1:
            raise ValueError(f"workers is {workers}; allowed: 1 or more")
        self._name = name
        self._load = load
        self._step_s = step_s
        self._longest_s = longest_s
        self._workers = workers
        self._model: DecodingModel | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._patient_pool: ThreadPoolExecutor | None = None  # for words on their way
        self._utterances = 0
        self._running: set[asyncio.Future[Any]] = set()

    async def start(self) -> None:
        """Load the model, downloading it first if need be, and decode once. Raises RecognizerError."""
        if self._pool is not None:
            return
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=self._name)
        self._patient_pool = ThreadPoolExecutor(
            self._max_patient, thread_name_prefix=f"{self._name} patient", initializer=_yield_to_others
        )
        try:
            model = await self._in_thread(self._load)
            warm_up = partial(model.open(), np.zeros(SAMPLE_RATE_HZ, np.int16), "", Event(), None)
            await self._in_thread(warm_up)
        except BaseException:
            await self.close()
            raise
        self._model = model

    async def close(self) -> None:
        """Let the model go once running decodings are through; a second call does nothing."""
        pools = self._pool, self._patient_pool
        self._pool = self._patient_pool = self._model = None
        await asyncio.gather(*self._running, return_exceptions=True)
        for pool in pools:
            if pool is not None:
                pool.shutdown()

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        if self._model is None:
            raise RecognizerError(f"{self._name}: not started, or closed")
        async with self._begun(self._model, sound) as utterance:
            over = False
            while not over:
                piece = await utterance.ahead.next()
                over = piece is None
                hypothesis = await self._understand(utterance, piece)
                if hypothesis is not None:
                    yield hypothesis

    @asynccontextmanager
    async def _begun(
        self, model: DecodingModel, sound: AsyncIterator[Samples | Flush]
    ) -> AsyncGenerator[_Utterance, None]:
        """An utterance, which counts among the others while it lasts."""
        hurry = _Hurry(lambda: self._crowd > 1)
        pieces = hurry.watch(in_pieces(sound, _PIECE_SAMPLES))
        self._utterances += 1
        try:
            async with LookAheadBuffer(pieces, _WAITING_PIECES) as ahead:
                window = GrowingWindow(self._step_s, self._longest_s)
                yield _Utterance(model.open(), window, hurry, ahead, reported=Hypothesis(""))
        finally:
            self._utterances -= 1

    async def _understand(self, utterance: _Utterance, piece: Samples | Flush | None) -> Hypothesis | None:
        """What is to be told as this piece has come, None where that is nothing. piece: None at the end."""
        window = utterance.window
        flush = None
        if isinstance(piece, np.ndarray):
            window.hear(piece)
            if utterance.ahead.waiting or self._busy or not window.is_due(self._crowd):
                return None
        else:
            flush = piece or Flush()
        if _decodes(window, flush) and not await self._decode(utterance, flush):
            return None
        settled = flush is not None
        hypothesis = Hypothesis(window.text, window.stable, settled, window.confidence, window.complete)
        if hypothesis == utterance.reported and not settled:
            return None
        utterance.reported = hypothesis
        return hypothesis

    @property
    def _crowd(self) -> float:
        """Utterances for each worker."""
        return self._utterances / self._workers

    @property
    def _busy(self) -> bool:
        """Whether words on their way have to wait."""
        return len(self._running) >= self._max_patient

    @property
    def _max_patient(self) -> int:
        return max(1, self._workers - 1)

    async def _decode(self, utterance: _Utterance, flush: Flush | None) -> bool:
        """Decode what the window holds; whether that came to its end, and was not abandoned for what is said
        since, as words on their way may be.
        """
        window, decode = utterance.window, utterance.decode
        sound, prompt = window.take(), window.prompt
        abandoned = utterance.hurry.begin() if flush is None else Event()

        def unless_abandoned() -> list[Segment]:
            return [] if abandoned.is_set() else decode(sound, prompt, abandoned, flush)

        try:
            segments = await self._in_thread(unless_abandoned, patient=flush is None)
            if abandoned.is_set():
                window.put_back()
                return False
            window.decoded(segments)
            return True
        finally:
            abandoned.set()

    async def _in_thread(self, work: Callable[[], _T], patient: bool = False) -> _T:
        """What `work` returns, done by a thread. Raises RecognizerError for what it raises."""
        pool = self._patient_pool if patient else self._pool
        if pool is None:
            raise RecognizerError(f"{self._name}: not started, or closed")

        def unless_closed() -> _T:
            if pool not in (self._pool, self._patient_pool):
                raise RecognizerError(f"{self._name}: closed")
            return work()

        future = asyncio.get_running_loop().run_in_executor(pool, unless_closed)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(future)  # whoever closes waits for it, even if nobody else does
        except RecognizerError:
            raise
        except Exception as error:  # each library has its own
            raise RecognizerError(f"{self._name}: {type(error).__name__}: {error}") from error


def _decodes(window: GrowingWindow, flush: Flush | None) -> bool:
    """Whether what the window holds has to be decoded for what asks for its words."""
    if flush is None or flush.number:  # words on their way were not heard as a number
        return True
    return window.is_changed(flush.silence_s)


@dataclass(slots=True)
class _Utterance:
    """One utterance while it is recognized. hurry: of its words on their way. ahead: sound that has come and
    is not decoded. reported: what was told last.
    """

    decode: Decode
    window: GrowingWindow
    hurry: _Hurry
    ahead: LookAheadBuffer[Samples | Flush]
    reported: Hypothesis


class _Hurry:
    """Abandons the decoding of words on their way as soon as settled ones are asked for of more than silence
    behind them, or of a number: these would wait behind it. Else they are what it is about to tell; but where
    callers share a worker that is slow, as its thread yields to others.

    shared: whether they do.
    """

    def __init__(self, shared: Callable[[], bool]) -> None:
        self._shared = shared
        self._abandoned = Event()
        self._whole = self._more = 0  # samples of the utterance; those that came since

    def begin(self) -> Event:
        """What ends the next decoding."""
        self._abandoned, self._more = Event(), 0
        return self._abandoned

    async def watch(
        self, sound: AsyncGenerator[Samples | Flush, None]
    ) -> AsyncGenerator[Samples | Flush, None]:
        """The sound, as it comes."""
        async with aclosing(sound):
            async for item in sound:
                if not isinstance(item, Flush):
                    self._whole += len(item)
                    self._more += len(item)
                else:
                    silence_s = 0.0 if self._shared() else item.silence_s
                    if item.number or self._more > wordless_samples(silence_s, self._whole):
                        self._abandoned.set()
                yield item


def _yield_to_others() -> None:
    """This thread gives way to the others of the process."""
    if sys.platform == "linux":  # elsewhere it is processes that are nice
        os.setpriority(
            os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS
        )
