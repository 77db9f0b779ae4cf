"""The LLM of a server: the configured engine, with what watches over it and what stands in for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from llmcore.backoff import Backoff
from llmcore.circuit_breaker import CircuitBreaker
from llmcore.engine import Llm
from llmcore.fallback_engine import FallbackLlm, TimeOuts
from voiceagent.config import Config, EngineConfig
from voiceagent.llm_metrics import LlmMetrics

BuildEngine = Callable[[str, EngineConfig], Any]
"""Makes an engine from the table of that name. Raises ConfigError."""


def build_llm(config: Config, build_engine: BuildEngine, metrics: LlmMetrics) -> Llm:
    """Put the LLM together, without starting it. Raises ConfigError."""
    settings = config.resilience
    fallback = build_engine("fallback", config.fallback) if config.fallback is not None else None
    return FallbackLlm(
        cast("Llm", build_engine("llm", config.llm)),
        cast("Llm | None", fallback),
        CircuitBreaker(settings.failures, Backoff(settings.retry_s, settings.most_retry_s), random.random),
        TimeOuts(settings.first_token_timeout_s, settings.stall_timeout_s),
        metrics.primary_failed,
    )
