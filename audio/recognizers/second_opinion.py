"""Second opinion: a more accurate model decodes an utterance as a whole, once it is over.

No caller waits for it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, get_native_id
from typing import Protocol

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, ExpectedSpeech, Flush, Hypothesis, RecognizerError
from audio.recognizers.decoding.growing_window import Segment, is_runaway, joined

_MAX_S = 60.0
"""Longer utterances get no second opinion, which bounds their memory (2 MB) and the time of a decoding."""
_SURE = 0.85
"""Confidence from which a transcript needs no second opinion. Of 609 words that people order Moonshine tiny
misses 71, base 34, and tiny with base for the orders below this bound, four in five, 39.
"""
_NICENESS = 10
"""Added niceness: a tenth of the processor time of a thread without it."""


class WholeUtterance:
    """Audio of an utterance from its beginning, for a second opinion."""

    def __init__(self) -> None:
        self._pieces: list[Samples] = []
        self._samples = 0
        self._suits = True

    def push(self, piece: Samples | Flush) -> None:
        """Add audio. A flush that expects a number or spelling excludes the utterance: its transcript is held
        to a grammar, which makes fewer errors than a larger model.
        """
        if isinstance(piece, Flush):
            self._suits &= not piece.is_special
        else:
            self._samples += len(piece)
            self._suits &= self._samples <= _MAX_S * SAMPLE_RATE_HZ
            self._pieces.append(piece)
        if not self._suits:
            self._pieces.clear()

    @property
    def sound(self) -> Samples:
        """The audio, [n] at 16 kHz; empty if there is to be no second opinion."""
        return np.concatenate([np.zeros(0, np.int16), *self._pieces])


def is_doubtful(first: Hypothesis) -> bool:
    """Return True if a transcript has words and may gain by a second opinion."""
    return bool(first.text) and (first.confidence is None or first.confidence < _SURE)


def preferred(first: str, segments: list[Segment]) -> str:
    """Return the second opinion of a transcript: `first` if the other model found no words, or loops."""
    second = ""
    for segment in segments:
        second = joined(second, segment.text)
    return second if second and not is_runaway(second) else first


class SecondModel(Protocol):
    """A loaded model; see `ExpectingModel`."""

    def open_in(
        self, expected: ExpectedSpeech
    ) -> Callable[[Samples, str, Event, Flush | None], list[Segment]]:
        """Return the function that decodes one utterance of which this is known."""
        ...


class SecondOpinion:
    """A model for second opinions, and the thread that it runs in. load: loads it, in that thread."""

    def __init__(self, load: Callable[[], SecondModel]) -> None:
        self._load = load
        self._model: SecondModel | None = None
        self._pool = ThreadPoolExecutor(1, "second opinion", lower_priority)
        self._running: asyncio.Future[list[Segment]] | None = None

    async def start(self) -> None:
        """Load the model. Raises RecognizerError."""
        self._model = await asyncio.get_running_loop().run_in_executor(self._pool, self._load)

    async def close(self) -> None:
        """Release the model after a decoding in progress."""
        self._model = None
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
        self._pool.shutdown()

    async def of(self, whole: WholeUtterance, expected: ExpectedSpeech, first: Hypothesis) -> str:
        """Return the second opinion of an utterance; the text of `first` if that is not doubtful or another
        second opinion is in progress. Raises RecognizerError.
        """
        busy = self._running is not None and not self._running.done()
        if self._model is None or busy or not is_doubtful(first):
            return first.text
        sound = whole.sound
        if not len(sound):
            return first.text
        decode = partial(self._model.open_in(expected), sound, "", Event(), Flush())
        self._running = asyncio.get_running_loop().run_in_executor(self._pool, decode)
        try:
            return preferred(first.text, await asyncio.shield(self._running))
        except Exception as error:  # each library has exceptions of its own
            raise RecognizerError(f"second opinion: {type(error).__name__}: {error}") from error


def lower_priority() -> None:
    """Lower this thread's priority within the process."""
    if sys.platform == "linux":  # elsewhere niceness applies to processes
        os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)
