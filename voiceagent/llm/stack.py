"""The LLM of a server: the configured engine, with what watches over it and what stands in for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from llmcore.engine import Llm, Request, SupportsSpeculation
from llmcore.serving.admission import AdmissionControl
from llmcore.serving.backoff import Backoff
from llmcore.serving.circuit_breaker import CircuitBreaker
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts
from llmcore.serving.priority_engine import PriorityLlm
from llmcore.serving.priority_queue import PriorityQueue, QueueLimits
from llmcore.serving.routed_engine import RoutedLlm
from llmcore.serving.routing import Route, route
from voiceagent.config.tables import Config, EngineConfig
from voiceagent.llm.cache import build_cache
from voiceagent.llm.load_shedding import SheddingLevel
from voiceagent.llm.monitor import LlmMonitor

BuildEngine = Callable[[str, EngineConfig], Any]
"""Makes an engine from the table of that name. Raises ConfigError."""


def build_llm(config: Config, build_engine: BuildEngine, monitor: LlmMonitor) -> Llm:
    """Put the LLM together, without starting it. Raises ConfigError."""
    settings = config.resilience

    def build(name: str, table: EngineConfig) -> Llm:
        engine = cast("Llm", build_engine(name, table))
        if isinstance(engine, SupportsSpeculation) and engine.has_draft:
            engine = monitor.speculating(name, table, engine, config.speculation.to_limits())
        return monitor.metered(name, table, engine)

    llm = build("llm", config.llm)
    if config.small_llm is not None:
        rules, shedder = config.routing.to_rules(), monitor.shedder

        def choose(request: Request) -> Route:
            return route(request, rules, pressed=shedder.level >= SheddingLevel.SMALL_MODEL)

        llm = RoutedLlm(llm, build("small_llm", config.small_llm), choose)
    resilient = FallbackLlm(
        llm,
        build("fallback", config.fallback) if config.fallback is not None else None,
        CircuitBreaker(settings.failures, Backoff(settings.retry_s, settings.max_retry_s), random.random),
        TimeOuts(settings.first_token_timeout_s, settings.stall_timeout_s),
        monitor.metrics.primary_failed,
    )
    lanes, places = config.lanes, config.lanes.places
    gate = PriorityLlm(
        resilient,
        PriorityQueue(QueueLimits(places, lanes.long_tokens, lanes.long)),
        AdmissionControl(places, lanes.max_busy, lanes.max_ttft_ms / 1000),
    )
    monitor.monitor_gate(gate, config.budget.llm_ttft_ms / 1000)
    if config.semantic_cache is None:
        return gate
    return build_cache(config, config.semantic_cache, gate, monitor)
