"""The LLM of a server: the configured engine, with what monitors it and what stands in for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

from llmcore.engine import Llm, Request, SupportsHurry, SupportsSpeculation
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.load_shedding import SheddingLevel
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.policies.routing import Route, route
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts
from llmcore.serving.priority_engine import PriorityLlm
from llmcore.serving.routed_engine import RoutedLlm
from llmcore.serving.set_answers_engine import SetAnswersLlm
from voiceagent.engines.build import build_engine
from voiceagent.llm.cache import build_cache
from voiceagent.llm.config import LlmEngineConfig, LlmTables, PriorityConfig, ResilienceConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.replicas import build_replicas


def build_llm(
    tables: LlmTables, source: Path, monitor: LlmMonitor, *, ttft_budget_s: float, max_prompt_characters: int
) -> Llm:
    """Put the LLM together, without starting it: engines, routing, fallback, priority classes, cache.

    source: the file that the tables are from. ttft_budget_s: load is shed while a first token would take
    longer. max_prompt_characters: a longer prompt is refused. Raises ConfigError.
    """

    queues: list[SupportsHurry] = []

    def build(name: str, table: LlmEngineConfig) -> Llm:
        if table.replicas:
            count = partial(monitor.metrics.replica_chosen, name)
            replicated = build_replicas(name, table, source, tables.priority, tables.resilience, count)
            monitor.monitor_replicas(name, replicated)
            for replica, one in replicated.replicas.items():
                monitor.monitor_shapes(f"{name} {replica}", one)
            return monitor.metered(name, table, replicated)
        engine = cast("Llm", build_engine("llm", table, source, name))
        monitor.monitor_shapes(name, engine)
        if isinstance(engine, SupportsHurry):
            queues.append(engine)
        if isinstance(engine, SupportsSpeculation) and engine.has_draft:
            engine = monitor.speculating(name, table, engine, tables.speculation.to_limits())
        return monitor.metered(name, table, engine)

    llm = build("llm", tables.llm)
    if tables.small_llm is not None:
        rules, shedder = tables.routing.to_rules(source), monitor.shedder

        def choose(request: Request) -> Route:
            return route(request, rules, pressed=shedder.level >= SheddingLevel.SMALL_MODEL)

        llm = RoutedLlm(llm, build("small_llm", tables.small_llm), choose)
    fallback = build("fallback", tables.fallback) if tables.fallback is not None else None
    resilient = _resilient(tables.resilience, llm, fallback, monitor)
    monitor.monitor_resilience(resilient)
    gate = _gate(tables.priority, resilient, monitor, max_prompt_characters, queues)
    monitor.monitor_gate(gate, ttft_budget_s)
    model = f"{tables.llm.engine} {tables.llm.options.get('model', '')}"
    cache = tables.semantic_cache
    cached = gate if cache is None else build_cache(cache, source, model, gate, monitor)
    answers = [table.to_answer() for table in tables.set_answers]
    return SetAnswersLlm(cached, answers) if answers else cached


def _resilient(
    settings: ResilienceConfig, llm: Llm, fallback: Llm | None, monitor: LlmMonitor
) -> FallbackLlm:
    """`llm` with what answers where it does not."""
    return FallbackLlm(
        llm,
        fallback,
        settings.to_breaker(),
        TimeOuts(settings.first_token_timeout_s, settings.stall_timeout_s),
        monitor.metrics.primary_failed,
    )


def _gate(
    settings: PriorityConfig,
    llm: Llm,
    monitor: LlmMonitor,
    max_prompt_characters: int,
    queues: Sequence[SupportsHurry],
) -> PriorityLlm:
    """What lets requests in to `llm`, by their priority class. queues: those of the engines in it."""
    return PriorityLlm(
        llm,
        PriorityQueue(QueueLimits(settings.max_running, settings.long_tokens, settings.max_long)),
        AdmissionControl(settings.max_running, settings.max_utilization, settings.max_ttft_ms / 1000),
        max_prompt_characters=max_prompt_characters,
        waited=lambda ticket, wait_s: monitor.metrics.request_waited(ticket.request, wait_s),
        engines=queues,
    )
