"""Summarises old turns of the history while the LLM is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Literal

import structlog

from llmcore.compression.extract import extract, is_about
from llmcore.compression.history_budget import characters
from llmcore.compression.summary import OldTurns, append_missing, check_summary, newest, request_summary
from llmcore.engine import Llm, LlmError, Request
from llmcore.text.prompt import split_turns
from voiceagent.conversation.commands import Summarise
from voiceagent.conversation.config import HistoryConfig
from voiceagent.conversation.events import Event, HistorySummarised
from voiceagent.session.references import until_stopped
from voiceagent.telemetry.llm_metrics import LlmMetrics

SummaryResult = Literal["model", "extract", "invented", "off_topic", "empty", "too_long", "failed", "stopped"]
"""Source of a summary; or the reason why a summary of the model was dropped."""


class Summarising:
    """Summaries of one call. At most one is in progress, in the lowest priority class.

    The model's text is checked. After `attempts` failed summaries in a row, sentences are taken instead
    (`extract`), which needs no model.
    """

    def __init__(
        self,
        call_id: str,
        llm: Llm,
        config: HistoryConfig,
        language: str,
        metrics: LlmMetrics,
        post: Callable[[Event], None],
    ) -> None:
        self._call_id = call_id
        self._log = structlog.get_logger().bind(call=call_id)
        self._llm = llm
        self._config = config
        self._language = language
        self._metrics = metrics
        self._post = post
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def summarise(self, wanted: Summarise) -> None:
        """Start a summary; `HistorySummarised` is posted when it is done."""
        self._task = asyncio.create_task(self._run(wanted), name="summarise")

    def stop(self) -> None:
        """Cancel the summary in progress, which would delay a response."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._drop("stopped")

    async def close(self) -> None:
        """Cancel the summary in progress and wait until it has stopped."""
        if self._task is not None:
            self._task.cancel()
            await until_stopped([self._task])

    async def _run(self, wanted: Summarise) -> None:
        static, _ = split_turns(wanted.prompt)
        system = "\n".join(message.content for message in static)
        turns = OldTurns(newest(wanted.said), wanted.earlier, system, self._language)
        while self._config.summaries == "model" and self._failures < self._config.attempts:
            summary = await self._ask(wanted, turns)
            if summary is not None:
                self._replace(wanted, summary, "model")
                return
        # in a thread because it takes tens of milliseconds; it is rare
        self._replace(
            wanted, await asyncio.to_thread(extract, turns, self._max_characters(wanted)), "extract"
        )

    async def _ask(self, wanted: Summarise, turns: OldTurns) -> str | None:
        """Return a checked summary of the model; None if it failed, which is counted."""
        request = Request(
            request_summary(wanted.prompt, self._config.summary_tokens),
            wanted.tools,
            "none",
            max_tokens=self._config.summary_tokens,
            priority_class="summary",
            caller=self._call_id,
        )
        try:
            text, complete = await self._written(request)
        except LlmError as error:
            self._drop("failed", error=str(error))
            return None
        # in a thread, as in `_run`
        verdict = await asyncio.to_thread(check_summary, text, turns)
        if verdict.invented:
            self._drop("invented", facts=len(verdict.invented))
        elif not text:
            self._drop("empty")
        elif not complete or len(text) >= characters(wanted.said):
            self._drop("too_long")
        elif not await asyncio.to_thread(is_about, text, turns):
            self._drop("off_topic")
        else:
            return append_missing(text, verdict.missing, self._max_characters(wanted))
        return None

    async def _written(self, request: Request) -> tuple[str, bool]:
        """Return the model's text, and True if it is complete. Raises LlmError."""
        text, complete = "", False
        async with aclosing(self._llm.generate(request)) as deltas:
            async for delta in deltas:
                text += delta.text
                complete = delta.finish_reason == "stop"
        return text.strip(), complete

    def _max_characters(self, wanted: Summarise) -> int:
        return round(self._config.summary_tokens * characters(wanted.prompt) / max(wanted.tokens, 1))

    def _drop(self, why: SummaryResult, **details: object) -> None:
        self._failures += 1
        self._metrics.summary(why)
        self._log.info("summary_dropped", reason=why, **details)

    def _replace(self, wanted: Summarise, text: str, by: SummaryResult) -> None:
        self._failures = 0
        # at the same characters per token: hosted models have no local tokenizer
        after = round(wanted.tokens * len(text) / max(characters(wanted.prompt), 1))
        self._metrics.summary(by)
        self._metrics.compressed(wanted.tokens, after)
        self._log.info("history_summarised", by=by, tokens_before=wanted.tokens, tokens_after=after)
        self._post(HistorySummarised(text))
