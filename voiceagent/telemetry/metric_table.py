"""All metrics of the server, declared in one place: name, kind, labels, unit, meaning.

`docs/metrics.md` is generated from this table (`tests/support/metric_reference.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from llmcore.engine_load import STEP_BUCKETS_S, STEP_SIZES

Unit = Literal["", "seconds", "tokens", "0 to 1"]

LATENCY_BUCKETS_S = (
    0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25,
    0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0,
)  # fmt: skip
TOOL_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
HOLD_BUCKETS_S = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0)
CONTEXT_BUCKETS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
TTFT_BUCKETS_S = (
    0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0,
)  # fmt: skip
TOKEN_BUCKETS_S = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
CACHED_BUCKETS = (0, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
LLM = ("engine", "model")
"""Labels of nearly all metrics of the LLM."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The declaration of a metric.

    name: without the prefix `voiceagent_`, and without the suffix `_total` of counters.
    largest: a server of many processes exports the largest value of its processes, not their sum.
    """

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    unit: Unit = ""
    buckets: tuple[float, ...] = ()
    largest: bool = False

    @property
    def full_name(self) -> str:
        """The name with its prefix."""
        return f"voiceagent_{self.name}"


def _counter(name: str, meaning: str, *labels: str, unit: Unit = "") -> MetricSpec:
    return MetricSpec("counter", name, meaning, labels, unit)


def _gauge(name: str, meaning: str, *labels: str, unit: Unit = "", largest: bool = False) -> MetricSpec:
    return MetricSpec("gauge", name, meaning, labels, unit, largest=largest)


def _histogram(
    name: str, meaning: str, buckets: tuple[float, ...], *labels: str, unit: Unit = "seconds"
) -> MetricSpec:
    return MetricSpec("histogram", name, meaning, labels, unit, buckets)


METRICS: dict[str, tuple[MetricSpec, ...]] = {
    "Calls and turns": (
        _gauge("calls", "Running calls."),
        _counter("turns", "Responses that are over.", "outcome"),
        _histogram(
            "turn_seconds",
            "The caller's wait: last voiced sample to first audio sent, or played if the client reports it.",
            LATENCY_BUCKETS_S,
        ),
        _histogram(
            "yield_seconds",
            "Yield latency: from the first voiced sample of an interruption to the end of the agent's audio.",
            LATENCY_BUCKETS_S,
        ),
        _counter(
            "agent_interruptions",
            "Times that the agent began to speak over the caller, or within a pause of at most 0.7 s.",
        ),
        _histogram(
            "backchannel_hold_seconds",
            "Time for which a backchannel, or a short noise, silenced the agent; 0 if it spoke on.",
            HOLD_BUCKETS_S,
        ),
        _histogram(
            "stage_seconds", "Contribution of a stage to the caller's wait.", LATENCY_BUCKETS_S, "stage"
        ),
        _counter("over_budget", "Turns in which a stage, or the total, was over its budget.", "stage"),
        _counter("preemptive", "Preemptive responses, by result: hit or miss.", "result"),
        _counter("tokens_wasted", "Tokens of preemptive responses that were dropped.", unit="tokens"),
        _counter("prompt_tokens", "Prompt tokens of responses.", unit="tokens"),
        _counter("cached_tokens", "Prompt tokens of responses found in the prefix cache.", unit="tokens"),
        _counter(
            "prompt_tokens_after_turn",
            "Prompt tokens that the LLM read after the end of the caller's turn.",
            unit="tokens",
        ),
        _histogram("tool_seconds", "From the model's function call to its output.", TOOL_BUCKETS_S),
        _histogram(
            "agent_tool_seconds", "Run time of the agents' own tools.", TOOL_BUCKETS_S, "tool", "outcome"
        ),
        _counter("responses_repeating", "Responses that were ended because the model repeated itself."),
        _counter("call_faults", "Unexpected exceptions in calls, by place.", "where"),
    ),
    "Speech": (
        _counter("engine_errors", "Failures of an engine during a turn.", "stage"),
        _counter(
            "speech_primary_failures",
            "Utterances and texts that the fallback engine took over: error, timeout, circuit_open.",
            "stage",
            "reason",
        ),
        _counter("phrase_cache", "Phrases to speak, by source: memory, disk, or miss.", "result"),
    ),
    "Requests to the LLM": (
        _counter("llm_requests", "Requests, by end: finished, failed, refused, cancelled.", *LLM, "ending"),
        _histogram("llm_ttft_seconds", "From the request to the first token.", TTFT_BUCKETS_S, *LLM),
        _histogram("llm_itl_seconds", "Time between two tokens of a response.", TOKEN_BUCKETS_S, *LLM),
        _histogram(
            "llm_tpot_seconds", "Mean time per token after the first, per response.", TOKEN_BUCKETS_S, *LLM
        ),
        _histogram("llm_queue_seconds", "Wait in the engine's queue.", TTFT_BUCKETS_S, *LLM),
        _histogram(
            "llm_gate_seconds",
            "Wait of a turn's request for a slot, before it reaches the engine.",
            TTFT_BUCKETS_S,
        ),
        _histogram(
            "llm_request_cached_tokens",
            "Prompt tokens found in the prefix cache, per request.",
            CACHED_BUCKETS,
            *LLM,
            unit="tokens",
        ),
        _counter("llm_prompt_tokens", "Prompt tokens.", *LLM, unit="tokens"),
        _counter("llm_cached_tokens", "Prompt tokens found in the prefix cache.", *LLM, unit="tokens"),
        _counter(
            "llm_cache_written_tokens",
            "Prompt tokens that the provider wrote to its cache, which may be billed.",
            *LLM,
            unit="tokens",
        ),
        _counter("llm_output_tokens", "Output tokens, thoughts included.", *LLM, unit="tokens"),
        _counter("llm_thought_tokens", "Tokens of thoughts, which are not spoken.", *LLM, unit="tokens"),
        _counter(
            "llm_primary_failures",
            "Requests that the fallback LLM took over: error, timeout, busy, circuit_open, setup, reply.",
            "reason",
        ),
        _counter(
            "llm_prompt_partings",
            "Prompts that do not continue the previous one, by the part that changed: instructions, tools,"
            " history, edited (by a client).",
            "part",
        ),
        _counter(
            "llm_summaries",
            "Old turns replaced by a summary (model) or an extract, and dropped summaries by reason.",
            "result",
        ),
        _counter(
            "llm_reviews",
            "Reviews of answers by the back LLM, by outcome. Those corrected were withdrawn where they were.",
            "outcome",
        ),
        _counter(
            "llm_compressed_tokens",
            "Estimated tokens of old turns before and after their replacement.",
            "side",
            unit="tokens",
        ),
    ),
    "Load of the LLM": (
        _gauge("llm_running", "Requests being computed.", *LLM),
        _gauge("llm_waiting", "Requests in the engine's queue.", *LLM),
        _gauge("llm_cache_usage", "Used part of the KV cache.", *LLM, unit="0 to 1"),
        _counter("llm_preemptions", "Responses put back to make room for others.", *LLM),
        _counter(
            "llm_evicted_blocks",
            "Blocks evicted from the prefix cache, by the priority class that had computed them (of), the one"
            " that needed the room (by), and whether both belong to one caller (whose).",
            *LLM,
            "of",
            "by",
            "whose",
        ),
        _gauge("llm_step_max_tokens", "Token limit of the next step while responses are written.", *LLM),
        _gauge("llm_step_max_sequences", "Response limit of the next step.", *LLM),
        _histogram("llm_step_seconds", "Duration of a step of the engine.", STEP_BUCKETS_S, *LLM),
        _histogram("llm_step_tokens", "Tokens computed in a step.", STEP_SIZES, *LLM, unit="tokens"),
        _histogram("llm_step_sequences", "Responses and prompts in a step.", STEP_SIZES, *LLM, unit=""),
        _counter("llm_refused_calls", "Calls refused because the LLM is overloaded."),
        _gauge(
            "llm_predicted_ttft_seconds",
            "Predicted time to first token of a turn that ends now.",
            unit="seconds",
        ),
        _gauge("shedding_level", "Level of load shedding, 0 to 5."),
        _counter("shedding_changes", "Changes of the level: up, down.", "direction"),
        _counter(
            "llm_replica_requests",
            "Requests per replica, by reason: placed (the call's first), kept (its cache is there), spilled"
            " (that replica is full), moved (it is lost).",
            "table",
            "replica",
            "reason",
        ),
        _gauge("llm_replica_up", "1 while the replica gets requests, 0 if it is lost.", "table", "replica"),
        _gauge(
            "llm_replica_sessions",
            "Calls whose prefix cache the replica holds, for 15 minutes after their last request.",
            "table",
            "replica",
        ),
    ),
    "Speculative decoding": (
        _counter(
            "llm_speculation_decisions",
            "Responses with drafts (pays, trial) and without (comparison, acceptance, cost, streams, short).",
            *LLM,
            "reason",
        ),
        _gauge("llm_speculation_on", "1 while drafts are used or tried.", *LLM),
        _gauge("llm_speculation_acceptance", "Accepted part of recent drafted tokens.", *LLM, unit="0 to 1"),
        _counter("llm_drafts", "Drafts, of a few tokens each.", *LLM),
        _counter("llm_drafted", "Drafted tokens.", *LLM, unit="tokens"),
        _counter("llm_accepted", "Drafted tokens that the model accepted.", *LLM, unit="tokens"),
        _counter(
            "llm_accepted_at", "Accepted tokens, by position in the draft.", *LLM, "position", unit="tokens"
        ),
    ),
    "Semantic cache and context": (
        _counter("semantic_cache_hits", "Requests answered from the cache."),
        _counter("semantic_cache_misses", "Requests not answered from the cache, by reason.", "reason"),
        _counter("semantic_cache_stored", "Responses stored."),
        _counter("semantic_cache_audits", "Hits also sent to the LLM: agreed, disagreed.", "outcome"),
        _counter(
            "semantic_cache_turned_off", "Times the cache was disabled: audit, hits, entries.", "reason"
        ),
        _gauge("semantic_cache_on", "1 while the cache answers."),
        _counter(
            "context_requests",
            "Queries to a source of context: found, nothing, late (cut off by its deadline), failed.",
            "source",
            "outcome",
        ),
        _histogram(
            "context_seconds", "Duration of a query, up to its deadline.", CONTEXT_BUCKETS_S, "source"
        ),
        _counter("context_passages", "Passages found, and those shown to the LLM.", "side"),
    ),
    "Processes and machine": (
        _gauge(
            "loop_lag_seconds",
            "Longest lag of an event loop in the last 10 s.",
            unit="seconds",
            largest=True,
        ),
        _gauge("tasks", "Tasks of the event loops."),
        _gauge("degraded", "1 while a component does not work.", "part"),
        _counter("restarts", "Processes that were restarted.", "part"),
        _counter(
            "supervisor_notifications_dropped",
            "Workers' reports dropped: the supervisor did not read.",
        ),
        _gauge("log_lines_dropped", "Log lines dropped because the stream was too slow."),
        _counter("datagrams_not_read", "Invalid datagrams at the UDP ports that looked like STUN."),
        _gauge(
            "gpu_utilization",
            "Part of the last period in which the GPU computed.",
            "gpu",
            unit="0 to 1",
        ),
        _gauge("gpu_memory_usage", "Used part of the GPU's memory.", "gpu", unit="0 to 1"),
    ),
    "Cluster, kept calls, traces, webhooks": (
        _gauge("gateways", "Gateways that have reported."),
        _gauge("gateways_wanted", "Gateways needed for all calls and the reserve."),
        _gauge("gateway_capacity", "Calls that this gateway can carry."),
        _counter("shared_state_failures", "Requests that the cluster's Redis did not answer."),
        _counter(
            "upstream_connections",
            "Connections to the realtime backend: connected, unreachable, refused, lost.",
            "outcome",
        ),
        _counter("kept_calls_failures", "Failed attempts to write kept calls."),
        _counter("kept_calls_lost_records", "Lines missing in the logs of kept calls."),
        _counter("kept_calls_lost_seconds", "Audio missing in recordings.", unit="seconds"),
        _counter("spans_sent", "Spans that the collector accepted."),
        _counter("spans_dropped", "Spans dropped, or rejected by the collector."),
        _counter("webhooks", "Events for webhooks: delivered, failed, dropped.", "outcome"),
    ),
}
"""The metrics by section of the page."""

_BY_NAME = {spec.name: spec for section in METRICS.values() for spec in section}
LARGEST = frozenset(spec.full_name for spec in _BY_NAME.values() if spec.largest)
"""Full names of the metrics of which a server exports the largest value of its processes."""


def new_counter(name: str, registry: CollectorRegistry) -> Counter:
    """Register a declared counter."""
    spec = _declared(name, "counter")
    return Counter(spec.full_name, spec.meaning, spec.labels, registry=registry)


def new_gauge(name: str, registry: CollectorRegistry) -> Gauge:
    """Register a declared gauge."""
    spec = _declared(name, "gauge")
    return Gauge(spec.full_name, spec.meaning, spec.labels, registry=registry)


def new_histogram(name: str, registry: CollectorRegistry) -> Histogram:
    """Register a declared histogram."""
    spec = _declared(name, "histogram")
    return Histogram(spec.full_name, spec.meaning, spec.labels, registry=registry, buckets=spec.buckets)


def counter_family(name: str) -> CounterMetricFamily:
    """Return an empty family of a declared counter, for a collector."""
    spec = _declared(name, "counter")
    return CounterMetricFamily(spec.full_name, spec.meaning, labels=spec.labels)


def gauge_family(name: str) -> GaugeMetricFamily:
    """Return an empty family of a declared gauge, for a collector."""
    spec = _declared(name, "gauge")
    return GaugeMetricFamily(spec.full_name, spec.meaning, labels=spec.labels)


def histogram_family(name: str) -> HistogramMetricFamily:
    """Return an empty family of a declared histogram, for a collector."""
    spec = _declared(name, "histogram")
    return HistogramMetricFamily(spec.full_name, spec.meaning, labels=spec.labels)


def _declared(name: str, kind: str) -> MetricSpec:
    spec = _BY_NAME[name]
    if spec.kind != kind:
        raise TypeError(f"{name} is declared as a {spec.kind}, not as a {kind}")
    return spec
