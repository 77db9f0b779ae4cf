"""Metrics of a server for Prometheus: latency and outcome of each turn."""

from __future__ import annotations

from typing import Literal

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest

from voiceagent.conversation.latency import TurnReport
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.log import lines_dropped
from voiceagent.telemetry.metric_table import new_counter, new_gauge, new_histogram

Outcome = Literal["found", "nothing", "late", "failed"]
"""Result of a query to a source of context; "late" was cut off by its deadline."""
CONTENT_TYPE = CONTENT_TYPE_LATEST
"""Content type of the page that `render` returns."""


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


class Metrics:
    """Metrics of one server, in a registry of its own. llm: those of its language model.

    Other modules update these directly: `calls` (current number), `engine_errors` by `stage` (recognizer,
    llm, synthesizer), `speech_failures` by stage and reason, `call_faults` by place in a call,
    `datagrams_not_read`, `repeated` (responses that were ended), and the scores of overlapping speech,
    `yield_seconds`, `agent_interruptions` and `backchannel_hold_seconds`. `observe` updates the others.

    log_turns: write a log line for each turn.
    """

    def __init__(self, log_turns: bool = True) -> None:
        self._log_turns = log_turns
        self.registry = registry = CollectorRegistry()
        self.llm = LlmMetrics(registry)
        self.calls = new_gauge("calls", registry)
        self.engine_errors = new_counter("engine_errors", registry)
        self.speech_failures = new_counter("speech_primary_failures", registry)
        self.phrase_cache = new_counter("phrase_cache", registry)
        self.call_faults = new_counter("call_faults", registry)
        self.datagrams_not_read = new_counter("datagrams_not_read", registry)
        self.repeated = new_counter("responses_repeating", registry)
        self.tool_seconds = new_histogram("tool_seconds", registry)
        self.yield_seconds = new_histogram("yield_seconds", registry)
        self.agent_interruptions = new_counter("agent_interruptions", registry)
        self.backchannel_hold_seconds = new_histogram("backchannel_hold_seconds", registry)
        self._stage_seconds = new_histogram("stage_seconds", registry)
        self._turn_seconds = new_histogram("turn_seconds", registry)
        self._turns = new_counter("turns", registry)
        self._over_budget = new_counter("over_budget", registry)
        self._preemptive = new_counter("preemptive", registry)
        self._agent_tool_seconds = new_histogram("agent_tool_seconds", registry)
        self._tokens_wasted = new_counter("tokens_wasted", registry)
        self._prompt_tokens = new_counter("prompt_tokens", registry)
        self._cached_tokens = new_counter("cached_tokens", registry)
        self._prompt_tokens_after_turn = new_counter("prompt_tokens_after_turn", registry)
        new_gauge("log_lines_dropped", registry).set_function(lines_dropped)

    def tool_ended(self, name: str, outcome: str, seconds: float) -> None:
        """Observe a finished tool call of an agent. outcome: done, failed or cancelled."""
        self._agent_tool_seconds.labels(name, outcome).observe(seconds)

    def observe(self, turn: TurnReport, call_id: str = "") -> None:
        """Count a finished turn, and log it."""
        for stage in turn.stages:
            self._stage_seconds.labels(stage.name).observe(stage.duration_s)
        if turn.wait_us is not None:
            self._turn_seconds.observe(turn.wait_us / 1_000_000)
        for name in turn.over_budget:
            self._over_budget.labels(name).inc()
        self._turns.labels(turn.outcome).inc()
        counts = turn.counts
        self._preemptive.labels("hit").inc(counts.preemptive_hits)
        self._preemptive.labels("miss").inc(counts.preemptive_attempts - counts.preemptive_hits)
        self._tokens_wasted.inc(counts.tokens_wasted)
        self._prompt_tokens.inc(counts.prompt_tokens)
        self._cached_tokens.inc(counts.cached_tokens)
        self._prompt_tokens_after_turn.inc(counts.prompt_tokens_after_turn)
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
        **({} if turn.wait_us is None else {"wait_ms": _ms(turn.wait_us)}),
        **stages,
        hidden_ms=_ms(turn.hidden_us),
        over_budget=list(turn.over_budget),
        preemptive=f"{counts.preemptive_hits}/{counts.preemptive_attempts}",
        tokens_wasted=counts.tokens_wasted,
        prompt_tokens=counts.prompt_tokens,
        cached_tokens=counts.cached_tokens,
        prompt_tokens_after_turn=counts.prompt_tokens_after_turn,
        thought_tokens=counts.thought_tokens,
        **decided,
    )


def _ms(duration_us: int) -> float:
    return round(duration_us / 1_000, 1)
