"""Metrics of a server for Prometheus: latency and outcome of each turn."""

from __future__ import annotations

import structlog
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from voiceagent.conversation.latency import TurnReport
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.log import lines_dropped

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Content type of the page that `render` returns."""
LATENCY_BUCKETS_S = (
    0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25,
    0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0,
)  # fmt: skip

TOOL_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of one server, in a registry of its own. llm: those of its language model.

    Other modules update these directly: `calls` (current number), `engine_errors` by `stage` (recognizer,
    llm, synthesizer), `speech_failures` by stage and reason, `call_faults` by place in a call,
    `datagrams_not_read`, `repeated` (responses that were ended). `observe` updates the others.

    log_turns: write a log line for each turn.
    """

    def __init__(self, log_turns: bool = True) -> None:
        self._log_turns = log_turns
        self.registry = CollectorRegistry()
        self.llm = LlmMetrics(self.registry)
        self.calls = Gauge("voiceagent_calls", "Calls at present.", registry=self.registry)
        self.engine_errors = self._counter("engine_errors", "Failures of an engine in mid-turn.", "stage")
        self.speech_failures = self._counter(
            "speech_primary_failures",
            "Utterances and texts that an engine with a fallback did not take: error, timeout, circuit_open.",
            "stage",
            "reason",
        )
        self.phrase_cache = self._counter(
            "phrase_cache", "Phrases to be spoken: from memory, from disk, or miss, which are made.", "result"
        )
        self.call_faults = self._counter("call_faults", "Exceptions that nobody expected, in calls.", "where")
        self.datagrams_not_read = self._counter(
            "datagrams_not_read", "Datagrams to the UDP ports that looked like STUN and were none."
        )
        dropped = Gauge(
            "voiceagent_log_lines_dropped",
            "Lines of the log that its stream did not take in time.",
            registry=self.registry,
        )
        dropped.set_function(lines_dropped)
        self.repeated = self._counter("responses_repeating", "Responses ended as they repeated themselves.")
        self._stage_seconds = self._histogram(
            "stage_seconds",
            "What one stage of a turn added to the caller's wait.",
            LATENCY_BUCKETS_S,
            "stage",
        )
        self._turn_seconds = self._histogram(
            "turn_seconds",
            "The caller's wait: last voiced sample to the last stamp of the response.",
            LATENCY_BUCKETS_S,
        )
        self.tool_seconds = self._histogram(
            "tool_seconds", "From the model's call of a function to its output.", TOOL_BUCKETS_S
        )
        self._turns = self._counter("turns", "Responses, by how they ended.", "outcome")
        self._over_budget = self._counter("over_budget", "Turns in which a stage broke its budget.", "stage")
        self._preemptive = self._counter("preemptive", "Preemptive responses: hit or miss.", "result")
        self._agent_tool_seconds = self._histogram(
            "agent_tool_seconds", "How long the agents' own tools ran.", TOOL_BUCKETS_S, "tool", "outcome"
        )
        self._tokens_wasted = self._counter(
            "tokens_wasted", "Tokens of preemptive responses that were dropped."
        )
        self._prompt_tokens = self._counter("prompt_tokens", "Tokens of prompts.")
        self._cached_tokens = self._counter(
            "cached_tokens", "Prompt tokens that were found in the prefix cache."
        )
        self._prefilled_tokens = self._counter("prefilled_tokens", "Those read after the turn's end.")

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"voiceagent_{name}", documentation, labels, registry=self.registry)

    def _histogram(
        self, name: str, documentation: str, buckets_s: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(
            f"voiceagent_{name}", documentation, labels, registry=self.registry, buckets=buckets_s
        )

    def tool_ended(self, name: str, outcome: str, seconds: float) -> None:
        """Observe a finished tool call of an agent. outcome: done, failed or cancelled."""
        self._agent_tool_seconds.labels(name, outcome).observe(seconds)

    def observe(self, turn: TurnReport, call_id: str = "") -> None:
        """Count a finished turn, and log it."""
        for stage in turn.stages:
            self._stage_seconds.labels(stage.name).observe(stage.duration_s)
        # A response with tool calls only: the next response measures the turn.
        asked_alone = bool(turn.stages) and turn.stages[-1].name in ("request", "thinking")
        if turn.stages and turn.stages[0].name == "endpointing" and not asked_alone:
            self._turn_seconds.observe(turn.total_s)
        for name in turn.over_budget:
            self._over_budget.labels(name).inc()
        self._turns.labels(turn.outcome).inc()
        counts = turn.counts
        self._preemptive.labels("hit").inc(counts.preemptive_hits)
        self._preemptive.labels("miss").inc(counts.preemptive_attempts - counts.preemptive_hits)
        self._tokens_wasted.inc(counts.tokens_wasted)
        self._prompt_tokens.inc(counts.prompt_tokens)
        self._cached_tokens.inc(counts.cached_tokens)
        self._prefilled_tokens.inc(counts.prefilled_tokens)
        if self._log_turns:
            _log_turn(turn, call_id)


def render(registry: CollectorRegistry) -> bytes:
    """Return the page for Prometheus: the given registry, then the process-wide one, which vLLM uses."""
    return generate_latest(registry) + generate_latest(REGISTRY)


def _log_turn(turn: TurnReport, call_id: str) -> None:
    stages = {f"{stage.name}_ms": _ms(stage.duration_us) for stage in turn.stages}
    counts, ended = turn.counts, turn.end_of_turn
    decided = {}
    if ended is not None:
        decided = {
            "end_of_turn_probability": round(ended.probability, 3),
            "silence_ms": round(ended.silence_s * 1000),
            "end_of_turn_log_odds": {name: round(nats, 2) for name, nats in ended.witnesses},
        }
    structlog.get_logger(__name__).info(
        "turn",
        **({"call": call_id} if call_id else {}),
        turn=turn.turn_id,
        response=turn.response_id,
        outcome=turn.outcome,
        **({"interrupted_by": turn.interrupted_by} if turn.interrupted_by else {}),
        **({"end_code": turn.end_code} if turn.end_code else {}),
        **({"total_ms": _ms(turn.total_us)} if turn.stages else {}),
        **stages,
        hidden_ms=_ms(turn.hidden_us),
        over_budget=list(turn.over_budget),
        preemptive=f"{counts.preemptive_hits}/{counts.preemptive_attempts}",
        tokens_wasted=counts.tokens_wasted,
        prompt_tokens=counts.prompt_tokens,
        cached_tokens=counts.cached_tokens,
        prefilled_tokens=counts.prefilled_tokens,
        thought_tokens=counts.thought_tokens,
        **decided,
    )


def _ms(duration_us: int) -> float:
    return round(duration_us / 1_000, 1)
