"""Assembly of a server's LLM: engines, fallback, routing, priority queue, cache and monitoring."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from llmcore.engine import Llm, Request, SupportsPriorityRaise, SupportsSpeculation
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.load_shedding import SheddingLevel
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.policies.routing import Route, route
from llmcore.policies.session_affinity import Choice, SessionAffinity
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts
from llmcore.serving.joined_engines import ReviewedLlm, RoutedLlm, SetAnswersLlm
from llmcore.serving.priority_engine import PriorityLlm
from llmcore.serving.replicated_engine import ReplicatedLlm
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.timeouts import REPLICA_SHARE, REVIEW_SHARE, TimeoutsConfig
from voiceagent.llm.cache import build_cache
from voiceagent.llm.config import LlmEngineConfig, LlmTables, PriorityConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.validation.errors import config_error

if TYPE_CHECKING:  # importing the openai package takes a quarter of a server's import time
    from llmcore.engines.openai_engine import OpenAILlm

_REMOTE = ("openai", "anthropic")
"""Engines with timeouts of their own."""


def build_llm(
    tables: LlmTables, source: Path, monitor: LlmMonitor, *, ttft_budget_s: float, max_prompt_characters: int
) -> Llm:
    """Assemble the LLM from its tables, without starting it. Raises ConfigError.

    source: file of the tables. ttft_budget_s: load is shed while a first token is predicted to take longer.
    max_prompt_characters: a longer prompt is refused.
    """

    queues: list[SupportsPriorityRaise] = []

    def build(name: str, table: LlmEngineConfig) -> Llm:
        if table.replicas:
            count = partial(monitor.metrics.replica_chosen, name)
            replicated = _build_replicas(name, table, source, tables.priority, tables.timeouts, count)
            monitor.register_replicas(name, replicated)
            for replica, one in replicated.replicas.items():
                monitor.register_shapes(f"{name} {replica}", one)
            return monitor.wrap_metered(name, table, replicated)
        engine = cast("Llm", build_engine("llm", _with_timeouts(table, tables.timeouts), source, name))
        monitor.register_shapes(name, engine)
        if isinstance(engine, SupportsPriorityRaise):
            queues.append(engine)
        if isinstance(engine, SupportsSpeculation) and engine.has_draft:
            engine = monitor.wrap_speculating(name, table, engine, tables.speculation.to_limits())
        return monitor.wrap_metered(name, table, engine)

    llm: Llm = build("llm", tables.llm)
    if tables.small_llm is not None:
        rules, shedder = tables.routing.to_rules(source), monitor.shedder

        def choose(request: Request) -> Route:
            return route(request, rules, overloaded=shedder.level >= SheddingLevel.SMALL_MODEL)

        llm = RoutedLlm(llm, build("small_llm", tables.small_llm), choose)
    fallback = build("fallback", tables.fallback) if tables.fallback is not None else None
    with_fallback = _with_fallback(tables, llm, fallback, monitor)
    monitor.register_fallback(with_fallback)
    queued = _with_queue(tables.priority, with_fallback, monitor, max_prompt_characters, queues)
    monitor.register_queue(queued, ttft_budget_s)
    model, cache = f"{tables.llm.engine} {tables.llm.options.get('model', '')}", tables.semantic_cache
    answering = queued if cache is None else build_cache(cache, source, model, queued, monitor)
    llm = _with_review(tables, answering, build)
    answers = [table.to_answer() for table in tables.set_answers]
    return SetAnswersLlm(llm, answers) if answers else llm


def _with_review(tables: LlmTables, llm: Llm, build: Callable[[str, LlmEngineConfig], Llm]) -> Llm:
    """Join `llm` with `[back_llm]`, if there is one, in its time-out and circuit breaker. It has no fallback,
    as a review that fails changes nothing, and no queue, as a call has one review at a time.
    """
    if tables.back_llm is None:
        return llm
    engine = build("back_llm", tables.back_llm)
    limit_s = REVIEW_SHARE * tables.timeouts.review_s
    waits, breaker = TimeOuts(limit_s, limit_s), tables.resilience.to_breaker()
    return ReviewedLlm(llm, FallbackLlm(engine, None, breaker, waits, lambda reason: None))


def _with_timeouts(table: EngineConfig, timeouts: TimeoutsConfig) -> EngineConfig:
    """Add a remote engine's own timeouts. They are longer than those around the engine, which report its
    failures, and end only what these do not cover, such as the fallback's reply.
    """
    if table.engine not in _REMOTE:
        return table
    waits = {"first_token_timeout_s": timeouts.answer_s, "timeout_s": timeouts.answer_token_s}
    return EngineConfig.model_validate({"engine": table.engine} | waits | table.options)


def _with_fallback(tables: LlmTables, llm: Llm, fallback: Llm | None, monitor: LlmMonitor) -> FallbackLlm:
    """Wrap `llm` with time-outs, circuit breaker and fallback."""
    return FallbackLlm(
        llm,
        fallback,
        tables.resilience.to_breaker(),
        TimeOuts(tables.timeouts.first_token_s, tables.timeouts.token_s),
        monitor.metrics.primary_failed,
    )


def _with_queue(
    settings: PriorityConfig,
    llm: Llm,
    monitor: LlmMonitor,
    max_prompt_characters: int,
    queues: Sequence[SupportsPriorityRaise],
) -> PriorityLlm:
    """Wrap `llm` with the priority queue. queues: engines with queues of their own."""
    return PriorityLlm(
        llm,
        PriorityQueue(QueueLimits(settings.max_running, settings.long_tokens, settings.max_long)),
        AdmissionControl(settings.max_running, settings.max_utilization, settings.max_ttft_ms / 1000),
        max_prompt_characters=max_prompt_characters,
        on_admitted=lambda ticket, wait_s: monitor.metrics.request_waited(ticket.request, wait_s),
        engines=queues,
    )


def _build_replicas(
    name: str,
    table: LlmEngineConfig,
    source: Path,
    priority: PriorityConfig,
    timeouts: TimeoutsConfig,
    observe: Callable[[Choice], None],
) -> ReplicatedLlm:
    """Build the engine of the table `name` for each of its `replicas`. Raises ConfigError.

    observe: called with each request's replica and the reason. `[priority] max_running` is shared by all
    replicas; the table's `retries` are further replicas to try.
    """
    if table.engine != "openai":
        message = "has no replicas; allowed with them: openai"
        raise config_error(source, f"{name}.engine", table.engine, message)
    if "base_url" in table.options:
        message = "is set as well as replicas; allowed: one of the two"
        raise config_error(source, f"{name}.base_url", table.options["base_url"], message)
    limits = {
        "first_token_timeout_s": REPLICA_SHARE * timeouts.first_token_s,
        "timeout_s": REPLICA_SHARE * timeouts.token_s,
    }
    replicas: dict[str, OpenAILlm] = {}
    for url in table.replicas:
        options = limits | table.options | {"base_url": url}
        config = EngineConfig.model_validate({"engine": table.engine} | options)
        replicas[url] = build_engine("llm", config, source, name)
    tries = 1 + min(replica.retries for replica in replicas.values())
    for replica in replicas.values():
        replica.retries = 0  # the next attempt is another replica's
    max_running = math.ceil(priority.max_running / len(replicas))
    return ReplicatedLlm(replicas, SessionAffinity(tuple(replicas), max_running), tries, observe)
