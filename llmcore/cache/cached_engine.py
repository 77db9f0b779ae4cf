"""An engine behind the semantic cache: a question that was answered before gets the same reply at once."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from llmcore.cache.entries import Entries, EntriesError
from llmcore.cache.policy.audit import AGREES, LOOK_UPS, AuditWindow, HitWindow, Switch, agreement
from llmcore.cache.policy.semantic_cache import (
    MAX_REPLY_CHARACTERS,
    Entry,
    Question,
    Rules,
    Skipped,
    cacheable_question,
    choose_entry,
    split_words,
)
from llmcore.cache.vectors import Embedding, EmbeddingError, Vectors
from llmcore.engine import Delta, Llm, LlmError, Request, SupportsPriorityRaise, Usage

log = logging.getLogger(__name__)

Miss = Skipped | Literal["unknown", "late", "failed", "off"]
"""Reason that the engine was asked: no entry is close, the lookup was late or failed, or the cache is off."""

MAX_WAIT_S = 0.05
"""Time limit of a lookup. Most take a few ms, the embedding included."""
MAX_STORING = 16
"""Replies being stored; more are dropped."""
ENTRIES_RETRY_S = 5.0
"""Pause after a failure of the store."""


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Quality control of the cache.

    rate: share of hits that the engine answers too, for comparison, 0 to 1. floor: smallest share of those
    that must agree. min_hits: smallest share of lookups that must hit. off_s: time for which the cache is off
    after missing either.
    """

    rate: float
    floor: float
    min_hits: float
    off_s: float


class CacheObserver(Protocol):
    """Subscriber to the cache's events."""

    def on_hit(self) -> None:
        """Count a reply from the cache."""

    def on_miss(self, reason: Miss) -> None:
        """Count a request to the engine."""

    def on_stored(self) -> None:
        """Count a stored reply."""

    def on_audited(self, agreed: bool) -> None:
        """Count the comparison of a hit with a new reply."""

    def on_switched(self, off: str) -> None:
        """Record that the cache was turned off for this reason, or on again ("")."""


class CachedLlm:
    """An engine that answers from the cache, and passes the rest to `engine`. draw: random number in [0, 1)
    that selects audits.
    """

    def __init__(
        self,
        engine: Llm,
        entries: Entries,
        embedding: Embedding,
        rules: Rules,
        settings: AuditSettings,
        observer: CacheObserver,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._engine = engine
        self._entries = entries
        self._vectors = Vectors(embedding)
        self._rules = rules
        self._settings = settings
        self._audits = AuditWindow(settings.floor)
        self._hits = HitWindow(settings.min_hits)
        self._observer = observer
        self._clock = clock
        self._draw = draw
        self._switch = Switch()
        self._reported_off = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._auditing = False

    @property
    def why_off(self) -> str:
        """Reason that the cache is off: "audit", "hits" or "entries"; "" if it is on."""
        return self._switch.why_off(self._clock())

    async def start(self) -> None:
        """Start the engine. The cache is off if its store is unreachable. Raises LlmError."""
        await self._engine.start()
        try:
            await self._vectors.start()
        except EmbeddingError as error:
            raise LlmError(f"the semantic cache: {error}") from error
        try:
            await self._entries.start()
        except EntriesError as error:
            self._on_store_failure(error)

    async def close(self) -> None:
        """Close the engine and the store; a second call does nothing."""
        for task in self._tasks:
            task.cancel()
        await self.wait_until_stored()
        self._vectors.close()
        try:
            await self._entries.close()
        except EntriesError as error:
            log.debug("closing: %s", error)
        await self._engine.close()

    async def wait_until_stored(self) -> None:
        """Wait until all replies so far are stored and audited."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Pass on to the engine; cached replies do not wait."""
        if isinstance(self._engine, SupportsPriorityRaise):
            self._engine.raise_priority(caller, due_s, priority)

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the engine, and start to embed the question meanwhile. Raises LlmError."""
        question = cacheable_question(request, self._rules)
        if isinstance(question, Question) and not self.why_off:
            self._vectors.start_early(question.text)
        return await self._engine.prefill(request)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Replay the stored reply to a similar question, else generate one. Raises LlmError."""
        question = cacheable_question(request, self._rules)
        found = await self._look_up(question) if isinstance(question, Question) else question
        if isinstance(found, Entry):
            self._observer.on_hit()
            self._start_audit(request, found)
            for piece in split_words(found.reply):
                yield Delta(piece)
            yield Delta(finish_reason="stop", usage=_usage(found))
            return
        self._observer.on_miss(found)
        pieces_written: list[str] = []
        async with aclosing(self._engine.generate(request)) as deltas:
            async for delta in deltas:
                pieces_written.append(delta.text)
                # replies that were cut short or call a tool are not reusable
                if isinstance(question, Question) and question.first and delta.finish_reason == "stop":
                    self._store(question, "".join(pieces_written), delta.usage or Usage())
                yield delta

    async def _look_up(self, question: Question) -> Entry | Miss:
        if self.why_off:
            return "off"
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                vector = await self._vectors.embed(question.text)
                near = await self._entries.find_near(question.agent, vector, self._rules.threshold)
        except TimeoutError:
            return "late"
        except EntriesError as error:
            self._on_store_failure(error)
            return "off"
        except EmbeddingError as error:
            log.error("the embedding model of the semantic cache fails: %s", error)
            return "failed"
        if self._reported_off:
            self._reported_off = ""
            self._observer.on_switched("")
        found = choose_entry(question, near)
        if self._hits.add(found is not None):
            log.warning(
                "the semantic cache is off for %.0f s: of the latest %d lookups, fewer than %.0f %% hit",
                self._settings.off_s,
                LOOK_UPS,
                100 * self._settings.min_hits,
            )
            self._turn_off("hits", self._settings.off_s)
        return found or "unknown"

    def _store(self, question: Question, reply: str, usage: Usage) -> None:
        if not reply.strip() or len(reply) > MAX_REPLY_CHARACTERS or self.why_off:
            return
        if len(self._tasks) < MAX_STORING:
            entry = Entry(question.agent, question.text, reply, usage.prompt_tokens, usage.completion_tokens)
            self._start_task(self._put(entry, question.ttl_s))

    async def _put(self, entry: Entry, ttl_s: float) -> None:
        await self._entries.put(entry, await self._vectors.embed(entry.question), ttl_s)
        self._observer.on_stored()

    def _start_audit(self, request: Request, entry: Entry) -> None:
        if not self._auditing and self._draw() < self._settings.rate:
            self._auditing = True
            self._start_task(self._audit(request, entry))

    async def _audit(self, request: Request, entry: Entry) -> None:
        """Answer the same request again at low priority, and compare with the entry."""
        try:
            # low priority: no caller waits for it
            fresh = await self._answer(replace(request, priority_class="prefill", due_s=None))
            if not fresh:
                return
            cosine = float(await self._vectors.embed(entry.reply) @ await self._vectors.embed(fresh))
            agreed = agreement(entry.reply, fresh, cosine) >= AGREES
            self._observer.on_audited(agreed)
            if not agreed:
                log.warning("a cached answer differs from the model's, and is removed")
                await self._entries.remove(entry)
            if self._audits.add(agreed):
                self._turn_off("audit", self._settings.off_s)
                # the cause, such as new instructions, makes the other entries wrong too
                await self._entries.clear()
        finally:
            self._auditing = False

    async def _answer(self, request: Request) -> str:
        """Return the engine's reply; "" if it fails, calls a tool or is cut short."""
        pieces_written: list[str] = []
        try:
            async with aclosing(self._engine.generate(request)) as deltas:
                async for delta in deltas:
                    pieces_written.append(delta.text)
                    if delta.finish_reason not in (None, "stop"):
                        return ""
        except LlmError as error:
            log.debug("no audit: %s", error)
            return ""
        return "".join(pieces_written)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._run_task(work), name="semantic cache")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_task(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except EntriesError as error:
            self._on_store_failure(error)
        except EmbeddingError as error:
            log.error("the embedding model of the semantic cache fails: %s", error)

    def _on_store_failure(self, error: EntriesError) -> None:
        if self._reported_off != "entries":
            log.warning("the semantic cache is off: %s", error)
        self._turn_off("entries", ENTRIES_RETRY_S)

    def _turn_off(self, reason: Literal["audit", "hits", "entries"], for_s: float) -> None:
        self._switch.turn_off(reason, self._clock() + for_s)
        if self._reported_off != reason:
            self._reported_off = reason
            self._observer.on_switched(reason)


def _usage(entry: Entry) -> Usage:
    """Return the usage of a cached reply: all prompt tokens count as cached."""
    return Usage(entry.prompt_tokens, entry.prompt_tokens, entry.completion_tokens)
