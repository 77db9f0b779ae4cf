"""Prefills the prompt while the caller speaks, and scores in a pause whether the turn ends there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from llmcore.engine import Llm, LlmError, Message, Request, Tool
from voiceagent.conversation.commands import AskTurnEnd
from voiceagent.conversation.events import Event, TurnEndScored


class Prefilling:
    """Prefills of one call. At most one is in flight; of the prompts that arrive meanwhile only the newest
    is read.

    An engine without a prefix cache reports it at the first prefill and gets no more.
    """

    def __init__(self, call_id: str, llm: Llm) -> None:
        self._call_id = call_id
        self._llm = llm
        self._task: asyncio.Task[None] | None = None
        self._next: Request | None = None
        self._no_cache = False

    def prefill(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> None:
        """Prefill a prompt whose last message is incomplete."""
        if self._no_cache:
            return
        self._next = Request(messages, tools, priority_class="prefill", caller=self._call_id)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._prefill(), name="prefill")

    def stop(self) -> None:
        """Cancel the prefill in progress, if any, which would delay a response."""
        self._next = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _prefill(self) -> None:
        while self._next is not None:
            request, self._next = self._next, None
            try:
                self._no_cache = await self._llm.prefill(request) is None
            except LlmError:
                return  # the response will hit and report the same failure
            if self._no_cache:
                return


class TurnEndScoring:
    """Queries of the LLM's end-of-turn score. At most one is open: a newer one replaces it. Unlike a
    prefill it continues next to a preemptive response, which may be wrong about the end. If the engine
    does not support it, nothing is posted.
    """

    def __init__(self, call_id: str, llm: Llm, post: Callable[[Event], None]) -> None:
        self._call_id = call_id
        self._llm = llm
        self._post = post
        self._task: asyncio.Task[None] | None = None

    def ask(self, asked: AskTurnEnd, messages: tuple[Message, ...]) -> asyncio.Task[None]:
        """Query the score of a turn's transcript. Return the task. messages: the prompt, with its context."""
        self.stop()
        request = Request(
            messages, asked.tools, priority_class="prefill", caller=self._call_id, asks_end=True
        )
        self._task = task = asyncio.create_task(self._ask(request, asked), name="ask for the end")
        return task

    def stop(self) -> None:
        """Cancel the open query, if any."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _ask(self, request: Request, asked: AskTurnEnd) -> None:
        try:
            usage = await self._llm.prefill(request)
        except LlmError:
            return  # the response will hit and report the same failure
        if usage is not None and usage.end_log_probability is not None:
            self._post(TurnEndScored(asked.item_id, asked.words, usage.end_log_probability))
