"""Metrics of the LLM, labelled by engine and model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from llmcore.engine import ReportsLoad, Request
from llmcore.policies.admission import Refusal
from llmcore.policies.session_affinity import Choice
from llmcore.policies.speculation import Reason
from llmcore.serving.fallback_engine import FallbackReason
from llmcore.serving.metered_engine import RequestFigures
from llmcore.serving.replicated_engine import ReplicatedLlm
from llmcore.serving.speculating_engine import SpeculatingLlm
from voiceagent.telemetry.cache_metrics import CacheMetrics
from voiceagent.telemetry.llm_load import LoadCollector

log = structlog.get_logger()

TTFT_BUCKETS_S = (
    0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0,
)  # fmt: skip
TOKEN_BUCKETS_S = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
CACHED_BUCKETS = (0, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)

LABELS = ("engine", "model")


class LlmMetrics:
    """Metrics of one server's LLM, in that server's registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._loads = LoadCollector(LABELS)
        registry.register(self._loads)
        self._requests = _Requests(registry)
        self._speculation = _Speculation(registry)
        self._load_shedding = _LoadShedding(registry)
        self._history = _History(registry)
        self._replicas = _Replicas(registry)
        self._gate = Histogram(
            "voiceagent_llm_gate_seconds",
            "Wait of a caller's request before it is let in to an engine.",
            registry=registry,
            buckets=TTFT_BUCKETS_S,
        )
        self._fallbacks = Counter(
            "voiceagent_llm_primary_failures",
            "Requests that the LLM did not answer: error, timeout, busy, circuit_open, setup, reply.",
            ("reason",),
            registry=registry,
        )

    def add_engine(self, engine: str, model: str, source: ReportsLoad) -> None:
        """Export the load of an engine."""
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
        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"voiceagent_llm_{name}", text, LABELS, registry=registry, buckets=buckets)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"voiceagent_llm_{name}", text, (*LABELS, *labels), registry=registry)

        self._ttft = histogram("ttft_seconds", "Request to first piece of the response.", TTFT_BUCKETS_S)
        self._itl = histogram("itl_seconds", "Between two pieces of a response.", TOKEN_BUCKETS_S)
        tpot = "Mean time per output token after the first, a response."
        self._tpot = histogram("tpot_seconds", tpot, TOKEN_BUCKETS_S)
        self._queue = histogram("queue_seconds", "Wait inside the engine.", TTFT_BUCKETS_S)
        cached = "Prompt tokens a request that the prefix cache saved."
        self._cached = histogram("request_cached_tokens", cached, CACHED_BUCKETS)
        self._requests = counter("requests", "Requests: finished, failed, refused or cancelled.", "ending")
        self._prompt_tokens = counter("prompt_tokens", "Tokens of prompts.")
        self._cached_tokens = counter("cached_tokens", "Prompt tokens that were found in the prefix cache.")
        self._written_tokens = counter(
            "cache_written_tokens", "Those that were written to a cache at a price."
        )
        self._output_tokens = counter("output_tokens", "Tokens of responses; their rate is tokens/s.")
        self._thought_tokens = counter(
            "thought_tokens", "Those of them that are thoughts, which nobody hears."
        )

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
        self.decisions = Counter(
            "voiceagent_llm_speculation_decisions",
            "Responses with a draft (pays, trial) and without (comparison, acceptance, cost, streams,"
            " short).",
            (*LABELS, "reason"),
            registry=registry,
        )
        self.on = Gauge(
            "voiceagent_llm_speculation_on",
            "1 while the draft is used or tried, 0 while it is left out, as bad or as too dear.",
            LABELS,
            registry=registry,
        )
        self.acceptance = Gauge(
            "voiceagent_llm_speculation_acceptance",
            "Part of the proposed tokens that were right, lately; 0 to 1.",
            LABELS,
            registry=registry,
        )


class _LoadShedding:
    """Admission control and load shedding."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.refused = Counter(
            "voiceagent_llm_refused_calls", "Calls refused as the LLM is too busy.", registry=registry
        )
        self.predicted = Gauge(
            "voiceagent_llm_predicted_ttft_seconds",
            "What a turn that came now would wait for its first token.",
            registry=registry,
        )
        self.level = Gauge(
            "voiceagent_shedding_level", "What is given up to keep the budget, 0 to 5.", registry=registry
        )
        self.changes = Counter(
            "voiceagent_shedding_changes",
            "Changes of the level, up and down.",
            ("direction",),
            registry=registry,
        )


class _History:
    """Prompt prefix changes, and replaced old turns."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.partings = Counter(
            "voiceagent_llm_prompt_partings",
            "Prompts that left the one before them ahead of its last turn, and are read anew: from the "
            "instructions, tools or history on; edited: from where a client changed the history.",
            ("part",),
            registry=registry,
        )
        self.summaries = Counter(
            "voiceagent_llm_summaries",
            "Old turns replaced, by model or extract; or why a summary was dropped.",
            ("result",),
            registry=registry,
        )
        self.compressed = Counter(
            "voiceagent_llm_compressed_tokens",
            "Tokens of old turns that were replaced, before and after; estimated.",
            ("side",),
            registry=registry,
        )


class _Replicas:
    """Routing of requests, by configuration table and replica."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"voiceagent_llm_replica_{name}", text, ("table", "replica"), registry=registry)

        self.requests = Counter(
            "voiceagent_llm_replica_requests",
            "Requests: a call's first (placed), where its cache is (kept), elsewhere as that one is full "
            "(spilled), or for good as it is lost (moved).",
            ("table", "replica", "reason"),
            registry=registry,
        )
        self._up = gauge("up", "1 while it gets requests, 0 while it is lost.")
        self._sessions = gauge(
            "sessions", "Calls whose cache it has, for 15 minutes after their last request."
        )

    def add(self, table: str, source: ReplicatedLlm) -> None:
        for name in source.names:
            self._up.labels(table, name).set_function(partial(_is_up, source, name))
            self._sessions.labels(table, name).set_function(partial(source.sessions, name))


def _is_up(source: ReplicatedLlm, name: str) -> float:
    return float(name not in source.lost)
