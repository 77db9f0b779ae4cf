"""A large and a small model as one engine: each request goes to one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from llmcore.engine import Delta, Llm, Request, Usage
from llmcore.policies.routing import Route


class RoutedLlm:
    """An engine that sends each request to the model that `choose` selects."""

    def __init__(self, large: Llm, small: Llm, choose: Callable[[Request], Route]) -> None:
        self._large = large
        self._small = small
        self._choose = choose

    async def start(self) -> None:
        """Start both models concurrently. Raises LlmError."""
        try:
            async with asyncio.TaskGroup() as group:
                for engine in (self._large, self._small):
                    group.create_task(engine.start())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def close(self) -> None:
        """Close both models; a second call does nothing."""
        await self._large.close()
        await self._small.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply with the selected model. Raises LlmError."""
        async with aclosing(self._engine(request).generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the model that would answer if the turn ended here. Raises LlmError.

        The small model's `end_log_probability` is dropped: it is calibrated for the large one.
        """
        engine = self._engine(request)
        usage = await engine.prefill(request)
        if usage is None or engine is self._large:
            return usage
        return replace(usage, end_log_probability=None)

    def _engine(self, request: Request) -> Llm:
        return self._small if self._choose(request) == "small" else self._large
