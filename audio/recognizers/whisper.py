"""Whisper through faster-whisper: many sizes and languages, CPU or GPU. It releases the GIL: threads suffice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from threading import Event
from typing import TypeVar

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError
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
        device: str = "auto",
        compute_type: str = "default",
        language: str | None = "en",
        download_root: str | Path | None = None,
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
        self._running: set[Future[object]] = set()

    async def start(self) -> None:
        """Load the model, downloading it first if need be, and decode once. Raises RecognizerError."""
        if self._pool is not None:
            return
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="whisper")
        try:
            self._model = await self._in_thread(self._load)
            ...
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let the model go; what is being decoded is waited for. A second call does nothing."""
        pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            await asyncio.gather(*map(asyncio.wrap_future, self._running), return_exceptions=True)
            pool.shutdown()

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        window = GrowingWindow(self._step_s)
        told = ""
        async with aclosing(_ahead(sound)) as pieces:
            async for piece, more in pieces:
                ...
