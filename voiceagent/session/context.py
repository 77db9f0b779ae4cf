"""Context for a turn: sources are asked while the caller speaks; what they find joins the prompt. Shell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from llmcore.cache.vectors import EmbeddingError, Vectors
from llmcore.compression.passages import Passage, choose_passages, newest_words, with_passages
from llmcore.engine import Message
from voiceagent.session.config import ContextConfig
from voiceagent.telemetry.context_metrics import ContextMetrics, Outcome

log = structlog.get_logger()

Source = Callable[[str], Awaitable[str | Sequence[str]]]
"""Given the caller's words so far, what may help to answer them: one text, or several."""

CHARACTERS_PER_TOKEN = 4
"""Characters of a token of English; other languages have fewer, and so get more tokens for the budget."""
MAX_FOUND = 16
"""Passages of one source that are weighed, its first: each that is new takes some milliseconds."""
WEIGHING_S = 0.2
"""How long that may take, after the sources' deadline."""


class ContextSources:
    """The sources that all calls share, and what tells how near their passages are.

    vectors: None where nothing is pruned by relevance. metrics: count what becomes of each question.
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
        """Embed nothing more."""
        if self._vectors is not None:
            self._vectors.close()

    async def find(self, words: str, own: Mapping[str, Source]) -> list[Passage]:
        """What these sources, and a call's own, find for the words in time; one that fails finds nothing."""
        asked = {**self.sources, **own}
        answers = await asyncio.gather(*(self._ask(name, source, words) for name, source in asked.items()))
        texts = list(dict.fromkeys(text for answer in answers for text in answer))
        try:
            return await self._weigh(words, texts)
        except EmbeddingError as error:
            log.error("context_failed", source="embedding", reason=str(error))
            return []

    def choose(self, found: Sequence[Passage], shown: Sequence[str]) -> tuple[str, ...]:
        """The passages that are shown to the model, as `choose_passages` has it."""
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
        except Exception as error:  # it is others' code
            log.error("context_failed", source=name, exc_info=error)
        self._metrics.asked(name, outcome, clock() - asked_s)
        return texts

    async def _weigh(self, words: str, texts: Sequence[str]) -> list[Passage]:
        if self._vectors is None:
            return [Passage(text, 1.0) for text in texts]
        said = await self._vectors.embed(words)
        return [Passage(text, float(said @ await self._vectors.embed(text))) for text in texts]


def _texts(found: str | Sequence[str]) -> list[str]:
    """What a source gave, without what is no text."""
    given = [found] if isinstance(found, str) else [*found][:MAX_FOUND]
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


class TurnContext:
    """The context of one call's newest turn. own: the call's sources, beside those that all share. arrived:
    called when other passages are shown from now on.
    """

    def __init__(
        self, sources: ContextSources, own: Mapping[str, Source], arrived: Callable[[], None]
    ) -> None:
        self._sources = sources
        self._own = own
        self._arrived = arrived
        self._turn = -1
        self._shown: tuple[str, ...] = ()
        self._words = ""  # that were asked about last
        self._next = ""
        self._task: asyncio.Task[None] | None = None

    def so_far(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """An unfinished prompt with what was found so far; the sources are asked about its words."""
        turn, words = newest_words(messages)
        if turn != self._turn:
            self._begin_turn(turn)
        self._ask(words)
        return with_passages(messages, self._shown)

    async def whole(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """A finished prompt with what the sources find for its words; it waits for them, to their deadline.

        After that the turn goes on with what was found for fewer of its words.
        """
        self.so_far(messages)
        # they are asked about fewer words, and it is these that count
        if self._next and self._task is not None:
            self._task.cancel()
            self._task = asyncio.create_task(self._find(), name="context")
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,), timeout=self._sources.config.deadline_s + WEIGHING_S)
        return with_passages(messages, self._shown)

    def close(self) -> None:
        """The call is over."""
        if self._task is not None:
            self._task.cancel()

    def _begin_turn(self, turn: int) -> None:
        self.close()
        self._turn, self._shown, self._words, self._next, self._task = turn, (), "", "", None

    def _ask(self, words: str) -> None:
        """At most one question is on its way; of the words that come meanwhile only the newest are asked."""
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
