"""Has the LLM read the prompt while the caller still speaks. Shell of one call."""

from __future__ import annotations

import asyncio

from llmcore.engine import Llm, LlmError, Message, Request, Tool


class Prefilling:
    """At most one prefill is in flight; of the prompts that come meanwhile only the newest is read.

    An engine that keeps no cache says so at the first prefill and is not asked again.
    """

    def __init__(self, call_id: str, llm: Llm) -> None:
        self._call_id = call_id
        self._llm = llm
        self._task: asyncio.Task[None] | None = None
        self._next: Request | None = None
        self._useless = False

    def prefill(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> None:
        """Read a prompt whose last message is not finished."""
        if self._useless:
            return
        self._next = Request(messages, tools, priority_class="prefill", caller=self._call_id)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._prefill(), name="prefill")

    def stop(self) -> None:
        """A response is asked for: what is in flight would only be in its way."""
        self._next = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _prefill(self) -> None:
        while self._next is not None:
            request, self._next = self._next, None
            try:
                self._useless = await self._llm.prefill(request) is None
            except LlmError:
                return  # the response will meet the same failure, and tell it
            if self._useless:
                return
