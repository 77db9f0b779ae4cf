"""Reviews of answers by the back LLM."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import structlog

from llmcore.engine import Llm, LlmError, Request
from llmcore.policies.review import review_messages
from voiceagent.conversation.commands import ReviewResponse
from voiceagent.conversation.events import Event, ResponseReviewed
from voiceagent.session.references import until_stopped


class Reviewing:
    """The review of one call, one at a time. limit_s: longest wait for it. post: receives the result."""

    def __init__(self, call_id: str, llm: Llm, limit_s: float, post: Callable[[Event], None]) -> None:
        self._call_id = call_id
        self._log = structlog.get_logger().bind(call=call_id)
        self._llm = llm
        self._limit_s = limit_s
        self._post = post
        self._response_id = ""
        self._task: asyncio.Task[None] | None = None

    def review(self, wanted: ReviewResponse) -> asyncio.Task[None]:
        """Start a review; `ResponseReviewed` is posted when it is done. Return its task."""
        self._response_id = wanted.response_id
        self._task = asyncio.create_task(self._run(wanted), name="review")
        return self._task

    def cancel(self, response_id: str) -> None:
        """Stop the review of this response, if it is in progress."""
        if self._task is not None and response_id == self._response_id:
            self._task.cancel()

    async def close(self) -> None:
        """Cancel the review in progress and wait until it has stopped."""
        if self._task is not None:
            self._task.cancel()
            await until_stopped([self._task])

    async def _run(self, wanted: ReviewResponse) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                reply = await self._reply(wanted)
        except TimeoutError:
            self._fail(wanted, f"no review within {self._limit_s:.3g} s")
        except LlmError as error:
            self._fail(wanted, str(error))
        else:
            self._post(ResponseReviewed(wanted.response_id, reply))

    def _fail(self, wanted: ReviewResponse, reason: str) -> None:
        self._log.warning("review_failed", response=wanted.response_id, reason=reason)
        self._post(ResponseReviewed(wanted.response_id, None))

    async def _reply(self, wanted: ReviewResponse) -> str:
        asked = wanted.request
        request = Request(
            review_messages(asked.messages, wanted.said),
            asked.tools,
            asked.tool_choice,
            asked.max_tokens,
            priority_class="review",
            caller=self._call_id,
        )
        async with aclosing(self._llm.generate(request)) as deltas:
            return "".join([delta.text async for delta in deltas])
