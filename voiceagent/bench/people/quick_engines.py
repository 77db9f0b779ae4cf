"""Engines that answer at once: what is left of a wait is the turn's end."""

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
    """Takes whatever it hears for the same words."""

    _WORDS = "Could you help me with something?"

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Answer each flush."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis(self._WORDS, self._WORDS, settled=True)
        yield Hypothesis(self._WORDS, self._WORDS, settled=True)


class QuickLlm:
    """Says the same to whatever it is asked, after so many seconds."""

    def __init__(self, answer_s: float = 0.0) -> None:
        self._answer_s = answer_s

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The response, whatever it may cost."""
        await asyncio.sleep(self._answer_s)
        yield Delta(RESPONSE)
        yield Delta(finish_reason="stop", usage=Usage(prompt_tokens=1, completion_tokens=1))

    async def prefill(self, request: Request) -> None:
        """There is no cache."""


class QuickSynthesizer:
    """A tone as long as a voice would take for the text."""

    rate_hz = 24_000

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """The tone, at a quarter of full scale."""
        at_s = np.arange(round(len(text) * _CHARACTER_S * self.rate_hz)) / self.rate_hz
        yield Speech((8_000 * np.sin(2 * np.pi * _TONE_HZ * at_s)).astype(np.int16))
