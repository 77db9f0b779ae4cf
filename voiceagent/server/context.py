"""Composition of the sources of context from the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from urllib.parse import quote

from llmcore.cache.vectors import Vectors
from voiceagent.config.tables import Config
from voiceagent.llm.cache import build_embedding
from voiceagent.mcp.pool import McpPool
from voiceagent.session.config import ContextSourceConfig
from voiceagent.session.context import ContextSources, Source
from voiceagent.telemetry.metrics import ContextMetrics, Metrics
from voiceagent.validation.errors import config_error
from voiceagent.validation.references import import_object


def build_context(config: Config, mcp: McpPool, metrics: Metrics) -> ContextSources | None:
    """Return the sources queried for each turn, not started, None without [context]. Raises ConfigError."""
    table = config.context
    if table is None:
        return None
    sources = {one.name: _source(one, config.source, mcp) for one in table.sources}
    if len(sources) < len(table.sources):
        names = [one.name for one in table.sources]
        raise config_error(
            config.source, "context.sources", names, "two sources have one name; names must differ"
        )
    vectors = Vectors(build_embedding(config.source, "context")) if table.min_relevance else None
    return ContextSources(sources, table, vectors, ContextMetrics(metrics.registry))


def _source(table: ContextSourceConfig, source: Path, mcp: McpPool) -> Source:
    label, uri, key = table.mcp, table.uri, f"context.sources.{table.name}"
    if label is not None:
        if label not in mcp.labels:
            allowed = ", ".join(mcp.labels) or "none is there"
            raise config_error(source, f"{key}.mcp", label, f"allowed: labels of agent.mcp: {allowed}")

        async def read(words: str) -> Sequence[str]:
            return await mcp.read_configured(label, uri.replace("{words}", quote(words, safe="")))

        return read
    name = table.python or ""
    try:
        found = import_object(name, source.parent)
    except Exception as error:  # importing users' code may raise anything
        raise config_error(source, f"{key}.python", name, f"{type(error).__name__}: {error}") from error
    if not inspect.iscoroutinefunction(found):  # a plain function would block the event loop
        raise config_error(source, f"{key}.python", name, "allowed: a function with async def")
    return cast("Source", found)
