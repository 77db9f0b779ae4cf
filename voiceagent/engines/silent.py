"""Engines that hear, answer and say nothing: where something else does it, or nobody is to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage

RATE_HZ = 24_000
MODULE = __name__
"""The module by which a configuration names these engines."""


class _Idle:
    in_workers = True

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""


class SilentRecognizer(_Idle):
    """Nobody says anything."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """No words for each flush, nor at the end."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis("", settled=True)
        yield Hypothesis("", settled=True)


class SilentLlm(_Idle):
    """Has nothing to answer."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The end of a response."""
        yield Delta(finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """There is no cache."""


class SilentSynthesizer(_Idle):
    """Makes a moment of silence of each text."""

    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """10 ms of it."""
        yield Speech(np.zeros(RATE_HZ // 100, np.int16))
