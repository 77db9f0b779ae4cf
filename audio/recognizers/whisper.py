"""Whisper through faster-whisper: many sizes and languages, CPU or GPU. Threads do: it releases the GIL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError
from audio.recognizers.read_ahead import ReadAhead
from audio.recognizers.whisper_model import LoadedModel
from audio.recognizers.whisper_window import GrowingWindow

_T = TypeVar("_T")

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10
_WAITING_PIECES = 200
"""20 s may wait to be decoded before the caller's iterator is held back."""


class WhisperRecognizer:
    """Whisper on a growing window of each utterance.

    model: a size ("base.en"), a name on the hub ("owner/name"), or the directory of a converted model.
    device: "auto", "cpu" or "cuda". compute_type: of CTranslate2, such as "int8" or "float16".
    language: a code such as "en"; None lets each decoding find out.
    download_root, local_files_only: the hub's cache, and whether only that is used.
    threads: of the processor a decoding uses; 0 leaves it to the library.
    step_s: new sound that makes a new decoding worthwhile. workers: decodings at once.
    """

    def __init__(  # noqa: PLR0913 - each a key of the engine's table in a config
        self,
        model: str,
        *,
        device: str = "auto",
        compute_type: str = "default",
        language: str | None = "en",
        download_root: Path | None = None,
        local_files_only: bool = False,
        threads: int = 0,
        step_s: float = 0.5,
        workers: int = 1,
    ) -> None:
        if step_s <= 0:
            raise ValueError(f"step_s is {step_s}; allowed: over 0")
        if workers < 1:
            raise ValueError(f"workers is {workers}; allowed: 1 or more")
        self._step_s = step_s
        self._workers = workers
        self._load = lambda: LoadedModel(
            model, device, compute_type, language, download_root, local_files_only, threads, workers
        )
        self._model: LoadedModel | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._running: set[Future[Any]] = set()

    async def start(self) -> None:
        """Load the model, downloading it first if need be, and decode once. Raises RecognizerError."""
        if self._pool is not None:
            return
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="whisper")
        try:
            model = await self._in_thread(self._load)
            warm_up = partial(model.decode, np.zeros(SAMPLE_RATE_HZ, np.int16), "", Event())
            await self._in_thread(warm_up)
        except BaseException:
            await self.close()
            raise
        self._model = model

    async def close(self) -> None:
        """Let the model go once running decodings are through; a second call does nothing."""
        pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            running = map(asyncio.wrap_future, tuple(self._running))
            await asyncio.gather(*running, return_exceptions=True)
            pool.shutdown()

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        self._loaded()
        window = GrowingWindow(self._step_s)
        told = Hypothesis("")
        async with ReadAhead(_in_pieces(sound), _WAITING_PIECES) as ahead:
            while True:
                piece = await ahead.next()
                settled = piece is None or isinstance(piece, Flush)
                if isinstance(piece, np.ndarray):
                    window.hear(piece)
                    if ahead.waiting or not window.due:
                        continue
                if window.changed:
                    await self._decode(window)
                hypothesis = Hypothesis(window.text, window.stable, settled)
                if settled or hypothesis != told:
                    told = hypothesis
                    yield hypothesis
                if piece is None:
                    return

    def _loaded(self) -> LoadedModel:
        if self._model is None:
            raise RecognizerError("whisper: not started, or closed")
        return self._model

    async def _decode(self, window: GrowingWindow) -> None:
        abandoned = Event()
        try:
            decode = partial(self._loaded().decode, window.take(), window.prompt, abandoned)
            window.decoded(await self._in_thread(decode))
        finally:
            abandoned.set()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, done by a thread of the pool. Raises RecognizerError for what it raises."""
        pool = self._pool
        if pool is None:
            raise RecognizerError("whisper: not started")

        def unless_closed() -> _T:
            if self._pool is not pool:
                raise RecognizerError("whisper: closed")
            return work()

        future = pool.submit(unless_closed)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.wrap_future(future)
        except RecognizerError:
            raise
        except Exception as error:  # CTranslate2 raises RuntimeError and ValueError, the features others
            raise RecognizerError(f"whisper: {type(error).__name__}: {error}") from error


async def _in_pieces(sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    """`sound` with its chunks cut so that their number tells how much waits."""
    async for item in sound:
        if isinstance(item, Flush):
            yield item
            continue
        for begin in range(0, len(item), _PIECE_SAMPLES):
            yield item[begin : begin + _PIECE_SAMPLES]
