"""The semantic cache of a server, put together from its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from llmcore.cache.cached_engine import CachedLlm
from llmcore.cache.entries import MemoryEntries
from llmcore.cache.vectors import Embedding
from llmcore.engine import Llm
from voiceagent.llm.config import SemanticCacheConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.validation.errors import ConfigError, problem
from voiceagent.validation.references import import_object, resolve_paths


def build_cache(
    settings: SemanticCacheConfig, source: Path, model: str, engine: Llm, monitor: LlmMonitor
) -> CachedLlm:
    """The cache before `engine`, not started. Raises ConfigError where what it needs is not installed.

    source: the file that `settings` are from. model: what answers; it does not get another one's answers.
    """
    # The embedding is computed in a thread of this process, native code though it is: 2.9 ms a question, one
    # a turn. Apart from it that would be 0.5 ms more, of CPU too, and 45 MB beside the 220 of the weights,
    # for one more process to look after. A crash ends the server; where the cache is off, it is not loaded.
    metrics = monitor.metrics.add_cache()
    cache = CachedLlm(
        engine,
        MemoryEntries(settings.capacity)
        if settings.url is None
        else _make(source, "llmcore.cache.redis_entries:RedisEntries", settings.url, settings.capacity),
        build_embedding(settings.embedding, source, "semantic_cache"),
        settings.to_rules(model),
        settings.to_audits(),
        metrics,
    )
    metrics.show(lambda: cache.why_off)
    monitor.monitor_cache(cache)
    return cache


def build_embedding(model: str, source: Path, table: str) -> Embedding:
    """What tells what sentences mean, not loaded, for a table of the file `source`. Raises ConfigError.

    model: the folder of its weights, "" for what is installed.
    """
    try:
        folder = resolve_paths(model, source.absolute().parent)
    except FileNotFoundError as error:
        raise problem(source, f"{table}.embedding", model, str(error)) from error
    return cast("Embedding", _make(source, "llmcore.cache.embedding:MiniLm", folder, table=table))


def _make(source: Path, path: str, *arguments: object, table: str = "semantic_cache") -> Any:
    """An object of the class at `path`, whose module needs what only the extra brings. Raises ConfigError."""
    try:
        return import_object(path)(*arguments)
    except ImportError as error:
        raise ConfigError(f"{source}: [{table}]: {error}; install it with: make semantic-cache") from error
    except ValueError as error:  # no address of a Redis
        raise problem(source, "semantic_cache.url", arguments[0], str(error)) from error
