"""Construction of the semantic cache from the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from llmcore.cache.cached_engine import CachedLlm
from llmcore.cache.entries import MemoryEntries
from llmcore.cache.vectors import Embedding
from llmcore.engine import Llm
from voiceagent.llm.config import SemanticCacheConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.validation.errors import ConfigError, config_error
from voiceagent.validation.references import import_object


def build_cache(
    settings: SemanticCacheConfig, source: Path, model: str, engine: Llm, monitor: LlmMonitor
) -> CachedLlm:
    """Build the cache in front of `engine`, not started. Raises ConfigError if a dependency is not installed.

    source: file of `settings`. model: name of the answering model; entries of another model are not used.
    """
    # The embedding runs in a thread of this process: 2.9 ms a question, one a turn. A process of its own
    # would add 0.5 ms (of CPU too), 45 MB to the weights' 220, and another process to supervise. A crash ends
    # the server. If the cache is off, it is not loaded.
    metrics = monitor.metrics.add_cache()
    cache = CachedLlm(
        engine,
        MemoryEntries(settings.capacity)
        if settings.url is None
        else _create(source, "llmcore.cache.redis_entries:RedisEntries", settings.url, settings.capacity),
        build_embedding(source, "semantic_cache"),
        settings.to_rules(model),
        settings.to_audits(),
        metrics,
    )
    metrics.show(lambda: cache.why_off)
    monitor.register_cache(cache)
    return cache


def build_embedding(source: Path, table: str) -> Embedding:
    """Build the installed embedding model, not loaded. Raises ConfigError. table: the one that needs it."""
    return cast("Embedding", _create(source, "llmcore.cache.embedding:MiniLm", table=table))


def _create(source: Path, path: str, *arguments: object, table: str = "semantic_cache") -> Any:
    """Create an object of the class at `path`, whose module needs the optional extra. Raises ConfigError."""
    try:
        return import_object(path)(*arguments)
    except ImportError as error:
        raise ConfigError(f"{source}: [{table}]: {error}; install it with: make semantic-cache") from error
    except ValueError as error:  # invalid address of a Redis
        raise config_error(source, "semantic_cache.url", arguments[0], str(error)) from error
