"""Engines of fixed cost, for measuring the server itself: they wait as long as real ones work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from functools import cache

import numpy as np

from voiceagent.engines.own import Delta, FinishReason, Flush, Hypothesis, Request, Samples, Speech, Usage

RESPONSE = "Sure, I can help you with that. Let me look it up for you right now. It will only take a moment."


class FixedRecognizer:
    """Understands `text`, whatever it hears, `delay_s` after it is asked."""

    in_workers = True

    def __init__(self, delay_s: float = 0.05, text: str = "Could you help me with something?") -> None:
        self._delay_s = delay_s
        self._text = text

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Answer each flush after the delay; partial hypotheses cost nothing here, so there are none."""
        async for piece in sound:
            if isinstance(piece, Flush):
                await asyncio.sleep(self._delay_s)
                yield Hypothesis(self._text, self._text, settled=True)
        yield Hypothesis(self._text, self._text, settled=True)


class FixedLlm:
    """Answers `response`, a word a delta: the first after `ttft_s`, the others `word_s` apart."""

    def __init__(self, ttft_s: float = 0.1, word_s: float = 0.01, response: str = RESPONSE) -> None:
        self._ttft_s = ttft_s
        self._word_s = word_s
        self._words = [word if index == 0 else f" {word}" for index, word in enumerate(response.split())]

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The response, cut at `request.max_tokens` words."""
        words = self._words[: request.max_tokens]
        due_s = asyncio.get_running_loop().time() + self._ttft_s
        for word in words:
            await _sleep_until(due_s)
            yield Delta(word)
            due_s += self._word_s
        finish: FinishReason = "stop" if len(words) == len(self._words) else "length"
        prompt_tokens = sum(len(message.content.split()) for message in request.messages)
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=len(words))
        yield Delta(finish_reason=finish, usage=usage)

    async def prefill(self, request: Request) -> None:
        """There is no cache."""


class FixedSynthesizer:
    """A tone, `character_s` for each character of the text, that comes whole after `delay_s`."""

    in_workers = True

    rate_hz = 24_000

    def __init__(self, delay_s: float = 0.05, character_s: float = 0.06, tone_hz: float = 440.0) -> None:
        self._delay_s = delay_s
        self._character_s = character_s
        self._tone_hz = tone_hz

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """The tone, at a quarter of full scale."""
        await asyncio.sleep(self._delay_s)
        yield Speech(_tone(round(len(text) * self._character_s * self.rate_hz), self.rate_hz, self._tone_hz))


@cache
def _tone(samples: int, rate_hz: int, tone_hz: float) -> Samples:
    wave = 0.25 * 32_767 * np.sin(2 * np.pi * tone_hz * np.arange(samples) / rate_hz)
    return wave.astype(np.int16)


async def _sleep_until(due_s: float) -> None:
    """Sleeps to a point in time, so that the lateness of one wake-up does not add to the next."""
    await asyncio.sleep(max(0.0, due_s - asyncio.get_running_loop().time()))
