"""Engines that answer at once, so that only the delay of the end of turn remains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage

RESPONSE = "Sure, I can help you with that. Let me look it up for you right now."
_CHARACTER_S = 0.06
_TONE_HZ = 440.0


class NoWords:
    """A recognizer that returns a fixed transcript."""

    _WORDS = "Could you help me with something?"

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Answer each flush."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis(self._WORDS, self._WORDS, settled=True)
        yield Hypothesis(self._WORDS, self._WORDS, settled=True)


class QuickLlm:
    """An LLM that returns a fixed response after some seconds."""

    def __init__(self, answer_s: float = 0.0) -> None:
        self._answer_s = answer_s

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the response."""
        await asyncio.sleep(self._answer_s)
        yield Delta(RESPONSE)
        yield Delta(finish_reason="stop", usage=Usage(prompt_tokens=1, completion_tokens=1))

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""


class QuickSynthesizer:
    """A synthesizer of a tone as long as the spoken text."""

    rate_hz = 24_000

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Yield the tone, at a quarter of full scale."""
        at_s = np.arange(round(len(text) * _CHARACTER_S * self.rate_hz)) / self.rate_hz
        yield Speech((8_000 * np.sin(2 * np.pi * _TONE_HZ * at_s)).astype(np.int16))
