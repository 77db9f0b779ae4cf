"""Metrics and log lines of the semantic cache."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry

from llmcore.cache.cached_engine import Miss
from voiceagent.telemetry.metric_table import new_counter, new_gauge

log = structlog.get_logger()


class CacheMetrics:
    """Metrics of a semantic cache, in a server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._hits = new_counter("semantic_cache_hits", registry)
        self._misses = new_counter("semantic_cache_misses", registry)
        self._stored = new_counter("semantic_cache_stored", registry)
        self._audits = new_counter("semantic_cache_audits", registry)
        self._turned_off = new_counter("semantic_cache_turned_off", registry)
        self._on = new_gauge("semantic_cache_on", registry)

    def show(self, why_off: Callable[[], str]) -> None:
        """Export as a gauge whether the cache is on. why_off: returns "" while it is on."""
        self._on.set_function(lambda: not why_off())

    def on_hit(self) -> None:
        """Count a hit."""
        self._hits.inc()

    def on_miss(self, reason: Miss) -> None:
        """Count a miss."""
        self._misses.labels(reason).inc()

    def on_stored(self) -> None:
        """Count a stored response."""
        self._stored.inc()

    def on_audited(self, agreed: bool) -> None:
        """Count an audit."""
        self._audits.labels("agreed" if agreed else "disagreed").inc()

    def on_switched(self, off: str) -> None:
        """Log that the cache was turned off (counted by reason) or on again. off: reason, or "" for on."""
        if off:
            self._turned_off.labels(off).inc()
            log.warning("semantic_cache_off", reason=off)
        else:
            log.info("semantic_cache_on")
