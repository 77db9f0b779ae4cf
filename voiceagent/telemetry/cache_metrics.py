"""Metrics and log lines of the semantic cache."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from llmcore.cache.cached_engine import Miss

log = structlog.get_logger()


class CacheMetrics:
    """Metrics of a semantic cache, in a server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"voiceagent_semantic_cache_{name}", text, labels, registry=registry)

        self._hits = counter("hits", "Requests that were answered from the cache.")
        self._misses = counter("misses", "Requests that were not, by reason.", "reason")
        self._stored = counter("stored", "Responses that were stored.")
        self._audits = counter("audits", "Hits that were answered afresh: agreed or disagreed.", "outcome")
        self._turned_off = counter(
            "turned_off", "Times the cache went off: audit, hits or entries.", "reason"
        )
        self._on = Gauge("voiceagent_semantic_cache_on", "Whether the cache answers.", registry=registry)

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
