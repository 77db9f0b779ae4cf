"""Answers some words with set answers, and leaves the rest to the engine behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from llmcore.engine import Delta, Llm, Request, SupportsPriorityRaise, Usage
from llmcore.policies.review import AGREED, reviewed_prompt
from llmcore.policies.set_answers import SetAnswer, answer_to


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
