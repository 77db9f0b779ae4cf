"""Silent engines: placeholders that recognize, answer and say nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage

RATE_HZ = 24_000
MODULE = __name__
"""Module that a configuration names for these engines."""


class _Idle:
    in_workers = True

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


class SilentRecognizer(_Idle):
    """A recognizer of empty transcripts."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Yield an empty transcript for each flush and for the end."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis("", settled=True)
        yield Hypothesis("", settled=True)


class SilentLlm(_Idle):
    """An LLM of empty responses."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the end of a response."""
        yield Delta(finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """Do nothing, as there is no cache."""


class SilentSynthesizer(_Idle):
    """A synthesizer that speaks every text as 10 ms of silence."""

    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Yield the silence."""
        yield Speech(np.zeros(RATE_HZ // 100, np.int16))
