"""Metrics of the LLM, labelled by engine and model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from math import nan

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from llmcore.cache.cached_engine import Miss
from llmcore.engine import Request
from llmcore.engine_load import STEP_BUCKETS_S, STEP_SIZES, EngineLoad, ReportsLoad
from llmcore.policies.admission import Refusal
from llmcore.policies.session_affinity import Choice
from llmcore.policies.speculation import Reason
from llmcore.serving.fallback_engine import FallbackReason
from llmcore.serving.metered_engine import RequestFigures
from llmcore.serving.replicated_engine import ReplicatedLlm
from llmcore.serving.speculating_engine import SpeculatingLlm
from voiceagent.telemetry.metric_table import (
    counter_family,
    gauge_family,
    histogram_family,
    new_counter,
    new_gauge,
    new_histogram,
)

log = structlog.get_logger()


class LlmMetrics:
    """Metrics of one server's LLM, in that server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._loads = LoadCollector()
        registry.register(self._loads)
        self._requests = _Requests(registry)
        self._speculation = _Speculation(registry)
        self._load_shedding = _LoadShedding(registry)
        self._history = _History(registry)
        self._replicas = _Replicas(registry)
        self._gate = new_histogram("llm_gate_seconds", registry)
        self._fallbacks = new_counter("llm_primary_failures", registry)

    def add_engine(self, engine: str, model: str, source: ReportsLoad) -> None:
        self._loads.engines.append((engine, model, source))

    def add_replicas(self, table: str, source: ReplicatedLlm) -> None:
        """Export health and sessions of the replicas of a configuration table."""
        self._replicas.add(table, source)

    def replica_chosen(self, table: str, choice: Choice) -> None:
        """Count a request routed to a replica."""
        self._replicas.requests.labels(table, choice.replica, choice.reason).inc()

    def add_speculation(self, engine: str, model: str, source: SpeculatingLlm) -> None:
        """Export state and acceptance of an engine's speculative decoding."""
        self._speculation.on.labels(engine, model).set_function(lambda: float(source.state != "off"))
        self._speculation.acceptance.labels(engine, model).set_function(
            lambda: nan if source.acceptance is None else source.acceptance
        )

    def speculation_decided(self, engine: str, model: str, reason: Reason) -> None:
        """Count a response that began with or without a draft."""
        self._speculation.decisions.labels(engine, model, reason).inc()

    def add_cache(self) -> CacheMetrics:
        """Register and return the metrics of a semantic cache."""
        return CacheMetrics(self._registry)

    def add_prediction(self, predicted_ttft_s: Callable[[], float]) -> None:
        """Export the predicted time to first token."""
        self._load_shedding.predicted.set_function(predicted_ttft_s)

    def call_refused(self, refusal: Refusal) -> None:
        """Count and log a call that was refused because the LLM is overloaded."""
        self._load_shedding.refused.inc()
        log.warning("call_refused", reason=refusal.reason)

    def shedding_changed(self, level: int, up: bool) -> None:
        """Set the level of load shedding, and count the change."""
        self._load_shedding.level.set(level)
        self._load_shedding.changes.labels("up" if up else "down").inc()

    def request_waited(self, request: Request, wait_s: float) -> None:
        """Observe the queueing time of a caller's request. Requests of lower priority are not observed."""
        if request.priority_class == "turn":
            self._gate.observe(wait_s)

    def request_over(self, engine: str, model: str, figures: RequestFigures) -> None:
        """Count a finished request."""
        self._requests.count(engine, model, figures)

    def prompt_parted(self, part: str) -> None:
        """Count a prompt that does not extend the call's previous prompt, by the part that changed."""
        self._history.partings.labels(part).inc()

    def summary(self, result: str) -> None:
        """Count a replacement of old turns, by its source, or a dropped summary, by the reason."""
        self._history.summaries.labels(result).inc()

    def reviewed(self, outcome: str) -> None:
        """Count a review of an answer by the back LLM, by its outcome."""
        self._history.reviews.labels(outcome).inc()

    def compressed(self, before_tokens: int, after_tokens: int) -> None:
        """Count prompt tokens of old turns before and after their replacement."""
        self._history.compressed.labels("before").inc(before_tokens)
        self._history.compressed.labels("after").inc(after_tokens)

    def primary_failed(self, reason: FallbackReason) -> None:
        """Count a request that the primary LLM did not complete."""
        self._fallbacks.labels(reason).inc()


class _Requests:
    """Usage and latency of requests, by engine and model."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ttft = new_histogram("llm_ttft_seconds", registry)
        self._itl = new_histogram("llm_itl_seconds", registry)
        self._tpot = new_histogram("llm_tpot_seconds", registry)
        self._queue = new_histogram("llm_queue_seconds", registry)
        self._cached = new_histogram("llm_request_cached_tokens", registry)
        self._requests = new_counter("llm_requests", registry)
        self._prompt_tokens = new_counter("llm_prompt_tokens", registry)
        self._cached_tokens = new_counter("llm_cached_tokens", registry)
        self._written_tokens = new_counter("llm_cache_written_tokens", registry)
        self._output_tokens = new_counter("llm_output_tokens", registry)
        self._thought_tokens = new_counter("llm_thought_tokens", registry)

    def count(self, engine: str, model: str, figures: RequestFigures) -> None:
        """Count a finished request. A prefill counts only its cache writes, which may be billed."""
        written = figures.usage.written_tokens if figures.usage is not None else 0
        self._written_tokens.labels(engine, model).inc(written)
        if figures.ttft_s is None and figures.priority_class == "prefill":
            return  # the response that follows counts its tokens as cached
        self._requests.labels(engine, model, figures.ending).inc()
        if figures.ttft_s is not None:
            self._ttft.labels(engine, model).observe(figures.ttft_s)
        for gap_s in figures.itl_s:
            self._itl.labels(engine, model).observe(gap_s)
        if figures.tpot_s is not None:
            self._tpot.labels(engine, model).observe(figures.tpot_s)
        if (usage := figures.usage) is None:
            return
        if usage.queue_s is not None:
            self._queue.labels(engine, model).observe(usage.queue_s)
        self._cached.labels(engine, model).observe(usage.cached_tokens)
        self._prompt_tokens.labels(engine, model).inc(usage.prompt_tokens)
        self._cached_tokens.labels(engine, model).inc(usage.cached_tokens)
        self._output_tokens.labels(engine, model).inc(usage.completion_tokens)
        self._thought_tokens.labels(engine, model).inc(usage.thought_tokens)


class _Speculation:
    """Outcome of speculative decoding, by engine and model."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.decisions = new_counter("llm_speculation_decisions", registry)
        self.on = new_gauge("llm_speculation_on", registry)
        self.acceptance = new_gauge("llm_speculation_acceptance", registry)


class _LoadShedding:
    """Admission control and load shedding."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.refused = new_counter("llm_refused_calls", registry)
        self.predicted = new_gauge("llm_predicted_ttft_seconds", registry)
        self.level = new_gauge("shedding_level", registry)
        self.changes = new_counter("shedding_changes", registry)


class _History:
    """Prompt prefix changes, replaced old turns, and reviewed answers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.partings = new_counter("llm_prompt_partings", registry)
        self.summaries = new_counter("llm_summaries", registry)
        self.reviews = new_counter("llm_reviews", registry)
        self.compressed = new_counter("llm_compressed_tokens", registry)


class _Replicas:
    """Routing of requests, by configuration table and replica."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = new_counter("llm_replica_requests", registry)
        self._up = new_gauge("llm_replica_up", registry)
        self._sessions = new_gauge("llm_replica_sessions", registry)

    def add(self, table: str, source: ReplicatedLlm) -> None:
        for name in source.names:
            self._up.labels(table, name).set_function(partial(_is_up, source, name))
            self._sessions.labels(table, name).set_function(partial(source.sessions, name))


def _is_up(source: ReplicatedLlm, name: str) -> float:
    return float(name not in source.lost)


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
        self._hits.inc()

    def on_miss(self, reason: Miss) -> None:
        self._misses.labels(reason).inc()

    def on_stored(self) -> None:
        """Count a stored response."""
        self._stored.inc()

    def on_audited(self, agreed: bool) -> None:
        self._audits.labels("agreed" if agreed else "disagreed").inc()

    def on_switched(self, off: str) -> None:
        """Log that the cache was turned off (counted by reason) or on again. off: reason, or "" for on."""
        if off:
            self._turned_off.labels(off).inc()
            log.warning("semantic_cache_off", reason=off)
        else:
            log.info("semantic_cache_on")


GAUGES = ("running", "waiting", "cache_usage")
COUNTERS = ("preemptions", "drafts", "drafted", "accepted")
LIMITS = (("llm_step_max_tokens", "max_tokens"), ("llm_step_max_sequences", "max_sequences"))
HISTOGRAMS = (
    ("llm_step_seconds", "seconds", STEP_BUCKETS_S),
    ("llm_step_tokens", "tokens", STEP_SIZES),
    ("llm_step_sequences", "sequences", STEP_SIZES),
)


class LoadCollector:
    """The load of all engines, labelled by engine and model. An engine's missing figures are left out."""

    def __init__(self) -> None:
        self.engines: list[tuple[str, str, ReportsLoad]] = []

    def collect(self) -> Iterator[Metric]:
        loads = [((engine, model), source.load()) for engine, model, source in self.engines]
        for names, family in ((GAUGES, gauge_family), (COUNTERS, counter_family)):
            for name in names:
                numbers = family(f"llm_{name}")
                for labels, load in loads:
                    if (value := getattr(load, name)) is not None:
                        numbers.add_metric(labels, value)
                yield numbers
        yield self._accepted_at(loads)
        yield self._evicted(loads)
        yield from self._steps(loads)

    def _accepted_at(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        accepted = counter_family("llm_accepted_at")
        for labels, load in loads:
            for position, value in enumerate(load.accepted_at):
                accepted.add_metric((*labels, str(position)), value)
        return accepted

    def _evicted(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        evicted = counter_family("llm_evicted_blocks")
        for labels, load in loads:
            for eviction in load.evictions:
                whose = (eviction.of, eviction.by, eviction.whose)
                evicted.add_metric((*labels, *whose), eviction.blocks)
        return evicted

    def _steps(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Iterator[Metric]:
        known = [(labels, load.steps) for labels, load in loads if load.steps is not None]
        for name, field in LIMITS:
            limit = gauge_family(name)
            for labels, steps in known:
                limit.add_metric(labels, getattr(steps, field))
            yield limit
        for name, field, bounds in HISTOGRAMS:
            histogram = histogram_family(name)
            for labels, steps in known:
                *counts, total = getattr(steps, field)
                ends = [*(str(float(bound)) for bound in bounds), "+Inf"]
                histogram.add_metric(labels, list(zip(ends, accumulate(counts), strict=True)), total)
            yield histogram
