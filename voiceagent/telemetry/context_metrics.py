"""Metrics of context retrieval."""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

Outcome = Literal["found", "nothing", "late", "failed"]
"""Result of a query to a source of context; "late" was cut off by its deadline."""

BUCKETS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)


class ContextMetrics:
    """Metrics of the sources of context, in a server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "voiceagent_context_requests",
            "Questions to a source of context: found, nothing, late (cut off by its deadline) or failed.",
            ("source", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "voiceagent_context_seconds",
            "How long a source of context took, or was waited for.",
            ("source",),
            registry=registry,
            buckets=BUCKETS_S,
        )
        self._passages = Counter(
            "voiceagent_context_passages",
            "Passages that were found, and those of them that were shown to the LLM.",
            ("side",),
            registry=registry,
        )

    def asked(self, source: str, outcome: Outcome, seconds: float) -> None:
        """Count a query and observe its duration."""
        self._requests.labels(source, outcome).inc()
        self._seconds.labels(source).observe(seconds)

    def chosen(self, shown: int, found: int) -> None:
        """Count the passages found by all sources for one query, and those shown to the LLM."""
        self._passages.labels("found").inc(found)
        self._passages.labels("shown").inc(shown)
