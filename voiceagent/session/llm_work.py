"""The LLM's work for one call: prefills, responses, summaries. Responses take precedence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import structlog

from audio.synthesizers import speak_with
from llmcore.engine import Delta, Llm, LlmError, Message, Request, SupportsPriorityRaise, Tool
from llmcore.policies.load_shedding import SheddingLevel
from llmcore.policies.must_answer import answer_repeated_calls
from llmcore.policies.review import review_messages
from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import ReviewResponse
from voiceagent.conversation.events import Event, ResponseFailed, ResponseReviewed, Stage
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.llm.monitor import PromptMonitor
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.call_voice import CallVoice
from voiceagent.session.context import Source, TurnContext
from voiceagent.session.prefilling import Prefilling, TurnEndScoring
from voiceagent.session.references import outcome, until_stopped, weak_callback
from voiceagent.session.responding import Progress, ResponseWork
from voiceagent.session.services import Services
from voiceagent.session.summarising import Summarising
from voiceagent.session.turn_stamps import TurnStamps

SHORT_FRAGMENT_CHARS = 24
"""Maximum characters of a first fragment at the shedding level SHORT_FRAGMENTS: two or three words."""


class LlmWork:
    """Owner of the work on one call's responses. post: handles their events. room: waits until more audio
    may be synthesised. monitor: timeouts and faults of the call. traceparent: trace header of a response,
    by its id. find_context: the agent's own source of context, if any.
    """

    def __init__(
        self,
        call_id: str,
        services: Services,
        post: Callable[[Event], None],
        stamps: TurnStamps,
        room: Callable[[], Awaitable[None]],
        monitor: CallMonitor,
        traceparent: Callable[[str], str] = lambda _: "",
        find_context: Source | None = None,
    ) -> None:
        answering, metrics = services.answering, services.measuring.metrics.llm
        self._answering = answering
        self.voice = CallVoice(call_id, services.speaking)
        self._shedder = services.shedder
        self._post = post
        self._stamps = stamps
        self._room = room
        self._monitor = monitor
        self._progress = Progress(stamps.milestone, monitor, answering.policy.correction is not None)
        self._traceparent = traceparent
        self._call_id = call_id
        self._prefilling = Prefilling(call_id, answering.llm)
        self._ends = TurnEndScoring(call_id, answering.llm, post)
        self._summarising = Summarising(
            call_id, answering.llm, answering.history, services.speaking.language, metrics, post
        )
        self._reviewing = Reviewing(call_id, answering.llm, services.limits.review_s, post)
        self._sent: tuple[str, tuple[Message, ...]] = ("", ())  # newest response, its prompt with context
        self._prompts = PromptMonitor(call_id, metrics)
        self._context: TurnContext | None = None
        self._unfinished: tuple[tuple[Message, ...], tuple[Tool, ...]] | None = None
        if answering.context is not None:
            own = {} if find_context is None else {"agent": find_context}
            self._context = TurnContext(answering.context, own, weak_callback(self._prefill_again))
        self._responses: dict[str, ResponseWork] = {}
        self._stopping: set[asyncio.Task[None]] = set()

    def prefill(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> None:
        """Prefill the LLM with a prompt whose last message is incomplete, and passages found for it."""
        self._unfinished = (messages, tools)
        self._prefilling.prefill(self._with_context(messages), tools)

    def ask_end(self, asked: do.AskTurnEnd) -> None:
        """Ask the LLM whether the turn ends with its transcript."""
        self._ends.ask(asked, self._with_context(asked.messages))

    def summarise(self, wanted: do.Summarise) -> None:
        """Start a summary of old turns."""
        self._summarising.summarise(wanted)

    def review(self, wanted: do.ReviewResponse) -> None:
        """Start the review of a response, with the prompt that was sent for it."""
        if wanted.response_id == self._sent[0]:
            wanted = replace(wanted, request=replace(wanted.request, messages=self._sent[1]))
        task = self._reviewing.review(wanted)
        task.add_done_callback(partial(self._check_review, wanted.response_id))

    def cancel_review(self, response_id: str) -> None:
        self._reviewing.cancel(response_id)

    def start(self, start: do.StartResponse) -> None:
        """Start a response. An out-of-band one does not stop work for the conversation."""
        if not start.out_of_band:
            self._unfinished = None
            self._prefilling.stop()
            self._summarising.stop()
            self._prompts.check(start)
        settings = self.voice.settings_of(start.voice)
        work = self._responses[start.response_id] = ResponseWork(
            start,
            partial(self._generate, start),
            partial(speak_with, self.voice.speaking.synthesizer, settings=settings),
            self._new_fragmenter(),
            self._post,
            self._progress,
            self._room,
            self._answering.preemptive_tokens if start.preemptive else None,
        )
        work.task.add_done_callback(lambda task: self._responses.pop(start.response_id, None))
        work.task.add_done_callback(partial(self._check, start.response_id))

    def hurry(self, response_id: str) -> None:
        """Raise the response's LLM request to the priority of a turn."""
        work, llm = self._responses.get(response_id), self._answering.llm
        if work is None:
            return
        work.urgent = True
        if not work.pieces and isinstance(llm, SupportsPriorityRaise):  # with output it is past the queue
            llm.raise_priority(self._call_id, self._stamps.first_token_due_s(response_id))

    def release(self, response_id: str) -> None:
        """Mark the response as no longer preemptive."""
        if work := self._responses.get(response_id):
            work.release()
            self.hurry(response_id)

    def cancel(self, response_id: str) -> None:
        """Cancel the work on a response without waiting."""
        if work := self._responses.pop(response_id, None):
            self._stamps.cancelled(response_id, work.pieces)
            self._stop(work)

    def give_up(self, response_id: str, stage: Stage, reason: str) -> None:
        """Fail a response whose engine timed out."""
        if work := self._responses.pop(response_id, None):
            self._stop(work)
            self._post(ResponseFailed(response_id, stage, reason))

    async def close(self) -> None:
        """Stop all work and wait until it has stopped."""
        self._prefilling.stop()
        self._ends.stop()
        if self._context is not None:
            self._context.close()
        for work in self._responses.values():
            self._stop(work)
        self._responses.clear()
        await self._summarising.close()
        await self._reviewing.close()
        await until_stopped(self._stopping)

    def _with_context(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages if self._context is None else self._context.with_context_so_far(messages)

    def _request(self, start: do.StartResponse) -> Request:
        """Return the LLM request with the call's id, priority, due time and trace header."""
        wanted = start.request
        return Request(
            wanted.messages,
            wanted.tools,
            wanted.tool_choice,
            wanted.max_tokens,
            wanted.temperature,
            wanted.stop,
            "turn" if self._responses[start.response_id].urgent else "preemptive",
            self._stamps.first_token_due_s(start.response_id),
            caller=self._call_id,
            traceparent=self._traceparent(start.response_id),
        )

    async def _generate(self, start: do.StartResponse) -> AsyncGenerator[Delta, None]:
        """Yield the LLM's answer, after the turn's context was found or timed out. Raises LlmError."""
        messages = start.request.messages
        if self._context is not None and not start.own_prompt:
            messages = await self._context.with_final_context(messages)
        if not start.out_of_band:
            self._sent = start.response_id, messages
        request = answer_repeated_calls(replace(self._request(start), messages=messages))
        async with aclosing(self._answering.llm.generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    def _prefill_again(self) -> None:
        """Prefill the current turn again, after more context was found."""
        if self._unfinished is not None:
            self.prefill(*self._unfinished)

    def _new_fragmenter(self) -> Fragmenter:
        short = self._shedder.level >= SheddingLevel.SHORT_FRAGMENTS
        return Fragmenter(
            self.voice.speaking.language, first_max_chars=SHORT_FRAGMENT_CHARS if short else None
        )

    def _stop(self, work: ResponseWork) -> None:
        work.task.cancel()
        self._stopping.add(work.task)
        work.task.add_done_callback(self._stopping.discard)

    def _check_review(self, response_id: str, task: asyncio.Task[None]) -> None:
        if (error := outcome(task)) is not None:
            self._monitor.fault("review", error)
            self._post(ResponseReviewed(response_id, None))

    def _check(self, response_id: str, task: asyncio.Task[None]) -> None:
        if (error := outcome(task)) is not None:
            self._monitor.fault("response", error)
            self._post(ResponseFailed(response_id, "llm", f"{type(error).__name__}: see the log"))


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
