"""Has the LLM read the prompt while the caller still speaks, and asks it in a pause whether his turn ends
there. Shell of one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from llmcore.engine import Llm, LlmError, Message, Request, Tool
from voiceagent.conversation.commands import AskTurnEnd
from voiceagent.conversation.events import Event, TurnEndTold


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


class EndAsking:
    """Asks the LLM whether the caller's message ends after its words. At most one question is open: a newer
    one takes its place. Unlike a prefill it goes on beside a preemptive response, which may be wrong about
    the end. Where the engine does not tell, nothing is posted.
    """

    def __init__(self, call_id: str, llm: Llm, post: Callable[[Event], None]) -> None:
        self._call_id = call_id
        self._llm = llm
        self._post = post
        self._task: asyncio.Task[None] | None = None

    def ask(self, asked: AskTurnEnd, messages: tuple[Message, ...]) -> asyncio.Task[None]:
        """Ask for the words of a turn; returns what ends with the answer. messages: the prompt, with what was
        found for the turn.
        """
        self.stop()
        request = Request(
            messages, asked.tools, priority_class="prefill", caller=self._call_id, asks_end=True
        )
        self._task = task = asyncio.create_task(self._ask(request, asked), name="ask for the end")
        return task

    def stop(self) -> None:
        """Nobody wants to know any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _ask(self, request: Request, asked: AskTurnEnd) -> None:
        try:
            usage = await self._llm.prefill(request)
        except LlmError:
            return  # the response will meet the same failure, and tell it
        if usage is not None and usage.end_log_probability is not None:
            self._post(TurnEndTold(asked.item_id, asked.words, usage.end_log_probability))
