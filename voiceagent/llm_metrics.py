"""The numbers of the LLM, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from llmcore.fallback_engine import FallbackReason


class LlmMetrics:
    """The numbers of one server's LLM, in that server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._fallbacks = Counter(
            "voiceagent_llm_primary_failures",
            "Requests that the LLM did not answer to the end: error, timeout, busy or circuit_open.",
            ("reason",),
            registry=registry,
        )

        self._partings = Counter(
            "voiceagent_llm_prompt_partings",
            "Prompts that left the one before them ahead of its last turn: their prefix is read anew.",
            registry=registry,
        )

    def prompt_parted(self) -> None:
        """Count a prompt that does not begin as the call's prompt before it."""
        self._partings.inc()

    def primary_failed(self, reason: FallbackReason) -> None:
        """Count a request that the LLM itself did not answer to the end."""
        self._fallbacks.labels(reason).inc()
