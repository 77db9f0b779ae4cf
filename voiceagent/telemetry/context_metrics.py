"""Metrics of context retrieval."""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry

from voiceagent.telemetry.metric_table import new_counter, new_histogram

Outcome = Literal["found", "nothing", "late", "failed"]
"""Result of a query to a source of context; "late" was cut off by its deadline."""


class ContextMetrics:
    """Metrics of the sources of context, in a server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = new_counter("context_requests", registry)
        self._seconds = new_histogram("context_seconds", registry)
        self._passages = new_counter("context_passages", registry)

    def asked(self, source: str, outcome: Outcome, seconds: float) -> None:
        """Count a query and observe its duration."""
        self._requests.labels(source, outcome).inc()
        self._seconds.labels(source).observe(seconds)

    def chosen(self, shown: int, found: int) -> None:
        """Count the passages found by all sources for one query, and those shown to the LLM."""
        self._passages.labels("found").inc(found)
        self._passages.labels("shown").inc(shown)
