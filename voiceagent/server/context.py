"""Composition of the sources of context from the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import cast
from urllib.parse import quote

import structlog

from audio.synthesizers import Synthesizer, SynthesizerError
from llmcore.cache.vectors import Vectors
from voiceagent.agents.load import load_agents
from voiceagent.config.tables import Config
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.llm.cache import build_embedding
from voiceagent.mcp.pool import McpPool
from voiceagent.session.config import ContextSourceConfig
from voiceagent.session.context import ContextSources, Source
from voiceagent.telemetry.context_metrics import ContextMetrics
from voiceagent.telemetry.metrics import Metrics
from voiceagent.text_normalization import normalize
from voiceagent.validation.errors import problem
from voiceagent.validation.references import import_object

log = structlog.get_logger()

_CALLERS_WORDS = "\ue000"
"""Stands for a group of a set answer's pattern, which is filled with words of the caller."""


def fixed_phrases(config: Config) -> tuple[str, ...]:
    """Return the phrases as a synthesizer is given them, without blanks around. Raises ConfigError."""
    agent, language = config.agent, config.agent.language
    alone = [agent.apology, agent.refusal, agent.filler]
    agents = load_agents(agent, config.instructions(), config.source)
    classes = [one for one in (agents.usual, *agents.named.values()) if one is not None]
    greetings = [one.greeting for one in classes if isinstance(one.greeting, str)] or [agent.greeting]
    phrases = [normalize(text, language)[0] for text in alone if text]
    corrections = () if config.back_llm is None else (agent.correction,)
    connecting = (agent.connecting,) if config.outbound.allow else ()
    for text in (*greetings, *agent.idle_prompts, agent.goodbye, *corrections, *connecting):
        phrases += _fragments(text or "", language)
    for table in config.set_answers:
        groups = dict.fromkeys(table.to_answer().pattern.groupindex, _CALLERS_WORDS)
        phrases += _fragments(table.answer.format(**groups), language)
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases if phrase.strip()))


def _fragments(text: str, language: str) -> Iterator[str]:
    """Yield the fragments of a response as they are spoken, without those that hold words of the caller."""
    fragmenter = Fragmenter(language)
    for fragment in (*fragmenter.push(text), *fragmenter.finish()):
        if _CALLERS_WORDS not in fragment.text:
            yield fragment.spoken


async def speak_ahead(synthesizer: Synthesizer, phrases: tuple[str, ...]) -> None:
    """Have each phrase spoken, so that the cache before the synthesizer has it."""
    for phrase in phrases:
        try:
            async with aclosing(synthesizer.speak(phrase)) as speeches:
                async for _ in speeches:
                    pass
        except SynthesizerError as error:
            log.warning("fixed_phrases_failed", reason=str(error))
            return


def build_context(config: Config, mcp: McpPool, metrics: Metrics) -> ContextSources | None:
    """Return the sources queried for each turn, not started, or None without [context]. Raises
    ConfigError.
    """
    table = config.context
    if table is None:
        return None
    sources = {one.name: _source(one, config.source, mcp) for one in table.sources}
    if len(sources) < len(table.sources):
        names = [one.name for one in table.sources]
        raise problem(config.source, "context.sources", names, "two sources have one name; names must differ")
    vectors = (
        Vectors(build_embedding(table.embedding, config.source, "context")) if table.min_relevance else None
    )
    return ContextSources(sources, table, vectors, ContextMetrics(metrics.registry))


def _source(table: ContextSourceConfig, source: Path, mcp: McpPool) -> Source:
    label, uri, key = table.mcp, table.uri, f"context.sources.{table.name}"
    if label is not None:
        if label not in mcp.labels:
            allowed = ", ".join(mcp.labels) or "none is there"
            raise problem(source, f"{key}.mcp", label, f"allowed: labels of agent.mcp: {allowed}")

        async def read(words: str) -> Sequence[str]:
            return await mcp.read_configured(label, uri.replace("{words}", quote(words, safe="")))

        return read
    name = table.python or ""
    try:
        found = import_object(name, source.parent)
    except Exception as error:  # importing users' code may raise anything
        raise problem(source, f"{key}.python", name, f"{type(error).__name__}: {error}") from error
    if not inspect.iscoroutinefunction(found):  # a plain function would block the event loop
        raise problem(source, f"{key}.python", name, "allowed: a function with async def")
    return cast("Source", found)
