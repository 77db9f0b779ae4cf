"""Engines joined to one: set answers before an LLM, a small LLM for simple turns, one that reviews."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from llmcore.engine import Delta, Llm, Request, SupportsPriorityRaise, Usage
from llmcore.policies.review import AGREED, reviewed_prompt
from llmcore.policies.routing import Route
from llmcore.policies.set_answers import SetAnswer, answer_to


class JoinedEngines:
    """Start and end of engines that are used as one."""

    def __init__(self, *engines: Llm) -> None:
        self._engines = engines

    async def start(self) -> None:
        """Start all engines concurrently. Raises LlmError."""
        try:
            async with asyncio.TaskGroup() as group:
                for engine in self._engines:
                    group.create_task(engine.start())
        except BaseExceptionGroup as failures:
            # raise the reason itself, not the task group's wrapper
            raise failures.exceptions[0] from None

    async def close(self) -> None:
        """Close all engines; a second call does nothing."""
        for engine in self._engines:
            await engine.close()


class ReviewedLlm(JoinedEngines):
    """An engine whose requests of the class "review" go to `back`, and all others to `front`."""

    def __init__(self, front: Llm, back: Llm) -> None:
        super().__init__(front, back)
        self._front = front
        self._back = back

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


class SetAnswersLlm:
    """An engine with set answers in front of it. A request that demands a tool goes to the engine. The review
    of a set answer agrees, without the engine.
    """

    def __init__(self, engine: Llm, answers: Sequence[SetAnswer]) -> None:
        self._engine = engine
        self._answers = tuple(answers)

    async def start(self) -> None:
        """Start the engine. Raises LlmError."""
        await self._engine.start()

    async def close(self) -> None:
        """Close the engine; a second call does nothing."""
        await self._engine.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Give the set answer, or generate a reply. Raises LlmError."""
        free, messages = request.tool_choice in ("auto", "none"), request.messages
        is_review = request.priority_class == "review"
        if is_review:
            messages = tuple(reviewed_prompt(messages))
        answer = answer_to(messages, self._answers) if free else None
        if answer is not None:
            yield Delta(AGREED if is_review else answer)
            yield Delta(finish_reason="stop", usage=Usage())
            return
        async with aclosing(self._engine.generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Have the engine read the prompt: the caller may still go on. Raises LlmError."""
        return await self._engine.prefill(request)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Raise the priority of this caller's waiting request."""
        if isinstance(self._engine, SupportsPriorityRaise):
            self._engine.raise_priority(caller, due_s, priority)


class RoutedLlm(JoinedEngines):
    """An engine that sends each request to the model that `choose` selects."""

    def __init__(self, large: Llm, small: Llm, choose: Callable[[Request], Route]) -> None:
        super().__init__(large, small)
        self._large = large
        self._small = small
        self._choose = choose

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
