"""An engine that answers, and a second one that reviews its answers, as one engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from llmcore.engine import Delta, Llm, Request, SupportsPriorityRaise, Usage


class ReviewedLlm:
    """An engine whose requests of the class "review" go to `back`, and all others to `front`."""

    def __init__(self, front: Llm, back: Llm) -> None:
        self._front = front
        self._back = back

    async def start(self) -> None:
        """Start both engines concurrently. Raises LlmError."""
        try:
            async with asyncio.TaskGroup() as group:
                for engine in (self._front, self._back):
                    group.create_task(engine.start())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def close(self) -> None:
        """Close both engines; a second call does nothing."""
        await self._front.close()
        await self._back.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply, or a review. Raises LlmError."""
        engine = self._back if request.priority_class == "review" else self._front
        async with aclosing(engine.generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the engine that answers. Raises LlmError."""
        return await self._front.prefill(request)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Raise the priority of this caller's waiting request."""
        if isinstance(self._front, SupportsPriorityRaise):
            self._front.raise_priority(caller, due_s, priority)
