"""Engines that are slow or short of something, each in one way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import numpy as np

from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, ToolCall, Usage
from llmcore.engine_load import EngineLoad

PROMPT_TOKENS, DRAFTED = 300, 40
"""Tokens that each request counts."""


class TroubledLlm:
    """Five words. stall_s: how long it holds the event loop. cached, accepted: parts of the prompt's tokens,
    and of those of a draft. tool: it asks for a function instead, until it has an output.
    """

    def __init__(
        self,
        *,
        ttft_s: float = 0.0,
        word_s: float = 0.0,
        stall_s: float = 0.0,
        cached: float = 0.9,
        accepted: float = 0.9,
        cache_usage: float = 0.1,
        tool: bool = False,
    ) -> None:
        self._ttft_s, self._word_s, self._stall_s = ttft_s, word_s, stall_s
        self._cached, self._accepted, self._cache_usage = cached, accepted, cache_usage
        self._tool = tool
        self._requests = 0

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    def load(self) -> EngineLoad:
        """Return the simulated shortage."""
        drafted = DRAFTED * self._requests
        return EngineLoad(
            cache_usage=self._cache_usage,
            drafts=self._requests,
            drafted=drafted,
            accepted=round(self._accepted * drafted),
        )

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The response."""
        self._requests += 1
        time.sleep(self._stall_s)  # noqa: ASYNC251  that is the trouble
        await asyncio.sleep(self._ttft_s)
        usage = Usage(PROMPT_TOKENS, round(self._cached * PROMPT_TOKENS), 5)
        if self._tool and request.messages[-1].role != "tool":
            call = ToolCall(f"call_{self._requests}", "look", "{}")
            yield Delta(tool_calls=(call,), finish_reason="tool_calls", usage=usage)
            return
        for word in ("Five", " words", " and", " no", " more."):
            yield Delta(word)
            await asyncio.sleep(self._word_s)
        yield Delta(finish_reason="stop", usage=usage)

    async def prefill(self, request: Request) -> None:
        """There is no cache."""


class TroubledRecognizer:
    """Understands "hello", delay_s after it is asked for it."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def recognize(self, sound: AsyncIterator[Any]) -> AsyncGenerator[Hypothesis, None]:
        """Answer each flush."""
        async for piece in sound:
            if isinstance(piece, Flush):
                await asyncio.sleep(self._delay_s)
                yield Hypothesis("hello", "hello", settled=True)
        await asyncio.sleep(self._delay_s)
        yield Hypothesis("hello", "hello", settled=True)


class TroubledSynthesizer:
    """Silence for `sound_s`, after `delay_s`."""

    rate_hz = 24_000

    def __init__(self, delay_s: float = 0.0, sound_s: float = 0.1) -> None:
        self._delay_s, self._sound_s = delay_s, sound_s

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak."""
        await asyncio.sleep(self._delay_s)
        yield Speech(np.zeros(round(self._sound_s * self.rate_hz), np.int16))
