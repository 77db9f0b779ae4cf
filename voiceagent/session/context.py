"""Context for a turn: sources are queried while the caller speaks, and their results join the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from llmcore.cache.vectors import EmbeddingError, Vectors
from llmcore.compression.passages import Passage, choose_passages, newest_words, with_passages
from llmcore.engine import Message
from voiceagent.session.config import ContextConfig
from voiceagent.telemetry.metrics import ContextMetrics, Outcome

log = structlog.get_logger()

Source = Callable[[str], Awaitable[str | Sequence[str]]]
"""Takes the caller's words so far and returns texts that may help to answer them."""

CHARACTERS_PER_TOKEN = 4
"""Characters per token of English; other languages have fewer, and so get more tokens for the budget."""
MAX_FOUND = 16
"""Maximum passages of one source, its first: embedding a new one takes some milliseconds."""
WEIGHING_S = 0.2
"""Time for embedding after the sources' deadline."""


class ContextSources:
    """The sources that all calls share, and the embedding that scores their passages.

    vectors: None without pruning by relevance. metrics: count the outcome of each query.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        config: ContextConfig,
        vectors: Vectors | None,
        metrics: ContextMetrics,
    ) -> None:
        self.sources = sources
        self.config = config
        self._vectors = vectors
        self._metrics = metrics

    async def start(self) -> None:
        """Load the embedding. Raises EmbeddingError."""
        if self._vectors is not None:
            await self._vectors.start()

    def close(self) -> None:
        """Stop the embedding."""
        if self._vectors is not None:
            self._vectors.close()

    async def find(self, words: str, own: Mapping[str, Source]) -> list[Passage]:
        """Return what these and a call's own sources find for the words in time; a failed one nothing."""
        asked = {**self.sources, **own}
        answers = await asyncio.gather(*(self._ask(name, source, words) for name, source in asked.items()))
        texts = list(dict.fromkeys(text for answer in answers for text in answer))
        try:
            return await self._embed(words, texts)
        except EmbeddingError as error:
            log.error("context_failed", source="embedding", reason=str(error))
            return []

    def choose(self, found: Sequence[Passage], shown: Sequence[str]) -> tuple[str, ...]:
        """Return the passages to show to the model; see `choose_passages`."""
        characters = self.config.max_tokens * CHARACTERS_PER_TOKEN
        chosen = choose_passages(found, shown, self.config.min_relevance, characters)
        self._metrics.chosen(len(chosen), len(found))
        return chosen

    async def _ask(self, name: str, source: Source, words: str) -> list[str]:
        clock = asyncio.get_running_loop().time
        asked_s, texts = clock(), list[str]()
        outcome: Outcome = "failed"
        try:
            async with asyncio.timeout(self.config.deadline_s):
                found = await source(words)
            texts = _texts(found)
            outcome = "found" if texts else "nothing"
        except TimeoutError:
            outcome = "late"
            log.warning("context_late", source=name, stopped_after_s=self.config.deadline_s)
        except Exception as error:  # user code
            log.error("context_failed", source=name, exc_info=error)
        self._metrics.asked(name, outcome, clock() - asked_s)
        return texts

    async def _embed(self, words: str, texts: Sequence[str]) -> list[Passage]:
        if self._vectors is None:
            return [Passage(text, 1.0) for text in texts]
        said = await self._vectors.embed(words)
        return [Passage(text, float(said @ await self._vectors.embed(text))) for text in texts]


def _texts(found: str | Sequence[str]) -> list[str]:
    """Return a source's texts, without anything else it returned."""
    given = [found] if isinstance(found, str) else [*found][:MAX_FOUND]
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


class TurnContext:
    """Context of one call's newest turn. own: this call's sources. arrived: called when passages change."""

    def __init__(
        self, sources: ContextSources, own: Mapping[str, Source], arrived: Callable[[], None]
    ) -> None:
        self._sources = sources
        self._own = own
        self._arrived = arrived
        self._turn = -1
        self._shown: tuple[str, ...] = ()
        self._words = ""  # of the last query
        self._next = ""
        self._task: asyncio.Task[None] | None = None

    def with_context_so_far(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return an unfinished prompt with the passages found so far, and query the sources for its words."""
        turn, words = newest_words(messages)
        if turn != self._turn:
            self.close()
            self._turn, self._shown, self._words, self._next, self._task = turn, (), "", "", None
        self._ask(words)
        return with_passages(messages, self._shown)

    async def with_final_context(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return a finished prompt with the passages found for its words. Wait for the sources until their
        deadline, then continue with those found for fewer words.
        """
        self.with_context_so_far(messages)
        # the query in progress is for fewer words; the final ones count
        if self._next and self._task is not None:
            self._task.cancel()
            self._task = asyncio.create_task(self._find(), name="context")
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,), timeout=self._sources.config.deadline_s + WEIGHING_S)
        return with_passages(messages, self._shown)

    def close(self) -> None:
        """Cancel the query in progress."""
        if self._task is not None:
            self._task.cancel()

    def _ask(self, words: str) -> None:
        """Start a query, or queue it: at most one is in progress, and only the newest words are queued."""
        if not words.strip() or words == self._words:
            return
        self._next = words
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._find(), name="context")

    async def _find(self) -> None:
        while self._next:
            self._words, self._next = self._next, ""
            found = await self._sources.find(self._words, self._own)
            chosen = self._sources.choose(found, self._shown)
            if chosen != self._shown:
                self._shown = chosen
                self._arrived()
