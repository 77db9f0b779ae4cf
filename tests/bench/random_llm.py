"""Replicas without a place for each call: what keeping a call at one of them is measured against."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator

from llmcore.engine import Delta, Request, Usage
from llmcore.engines.openai_engine import OpenAILlm


class RandomLlm:
    """Sends each request to any of `urls`."""

    def __init__(self, urls: tuple[str, ...], model: str = "demo") -> None:
        self._each = [OpenAILlm(model, url, api_key_env="", prefix_cache=True) for url in urls]

    async def start(self) -> None:
        """Start all. Raises LlmError."""
        for one in self._each:
            await one.start()

    async def close(self) -> None:
        """Close all."""
        for one in self._each:
            await one.close()

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply of any. Raises LlmError."""
        return random.choice(self._each).generate(request)

    async def prefill(self, request: Request) -> Usage | None:
        """Have any read. Raises LlmError."""
        return await random.choice(self._each).prefill(request)
