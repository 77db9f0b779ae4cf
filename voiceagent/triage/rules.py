"""Causes of slow calls: how each is detected, where to look and what to change.

Causes come before their effects: a stalled event loop delays everything, and a full KV cache evicts prompts
from the prefix cache. So the first rule that holds is the likeliest cause.
"""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation.latency import StageName
from voiceagent.triage.expressions import Expression, Gauge, Quantile, Share, Spread, Window

MIN_TURNS = 10
"""Minimum turns and requests for a meaningful share or quantile."""
MIN_TOKENS = 2000
"""Minimum prompt tokens for a meaningful share."""
MIN_DRAFTED = 200
MIN_FOR_P99 = 100
"""Minimum requests for a meaningful 99th percentile."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A possible cause of slow calls, and the figure that shows it. below: the figure is bad when under the
    limit, not over it.

    look: metrics and places to inspect. change: the remedy, with configuration keys.
    """

    cause: str
    title: str
    figure: Expression
    limit: float
    look: str
    change: str
    below: bool = False

    def holds(self, value: float) -> bool:
        """Return True if the figure is past the limit."""
        return value < self.limit if self.below else value > self.limit


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule and its current figure; None if too little was measured. found: the rule holds."""

    rule: Rule
    value: float | None
    found: bool


def _over_budget(stage: StageName) -> Share:
    """Return the share of turns over a stage's budget, among the turns that had the stage. Turns without it,
    such as those whose caller hung up before any audio, could not exceed its budget.
    """
    return Share(
        "voiceagent_over_budget_total", "voiceagent_stage_seconds_count", MIN_TURNS, {"stage": stage}
    )


SCORES = (
    Rule(
        "slow_answers",
        "Callers wait long for answers",
        Quantile("voiceagent_turn_seconds", 0.5, MIN_TURNS),
        2.0,
        "the causes above, voiceagent_stage_seconds by stage, scores of calls in the inspector",
        "what the slowest stage names; turn.eagerness, where it is endpointing",
    ),
    Rule(
        "slow_yield",
        "The agent speaks on over callers who interrupt it",
        Quantile("voiceagent_yield_seconds", 0.5, MIN_TURNS // 2),
        1.0,
        "voiceagent_yield_seconds, interrupted_by of the turns in the log",
        "a smaller turn.interruption_confirmed_s, a smaller turn.min_interruption_words",
    ),
    Rule(
        "agent_interrupts",
        "The agent begins to speak over callers",
        Share("voiceagent_agent_interruptions_total", "voiceagent_turns_total", MIN_TURNS),
        0.25,
        "calls in the inspector with the mark of a turn that was cut off, end_code in the log",
        "a lower turn.eagerness; turn.model, where there is none",
    ),
    Rule(
        "backchannels_hold",
        "The agent stops for backchannels",
        Quantile("voiceagent_backchannel_hold_seconds", 0.5, MIN_TURNS // 2),
        1.0,
        "voiceagent_backchannel_hold_seconds, voiceagent_stage_seconds of recognition",
        "a faster recognizer; the callers' words in turn.backchannels",
    ),
)
"""Scores of the conversation. They are effects, and come last among the rules. Limits: chosen a
little above the figures of tau-voice (docs/scores.md), which are means and not medians; within 1 s
tau-voice counts a backchannel as talked through.
"""

RULES = (
    Rule(
        "loop_stalls",
        "The event loop stands still",
        Gauge("voiceagent_loop_lag_seconds", unit="s"),
        0.2,
        "loop_lag_ms at /load, CPU of the process, engines and tools of your own that block",
        "more server.workers or fewer server.max_calls; a blocking engine as a class with open(), which gets "
        "a process of its own",
    ),
    Rule(
        "kv_pressure",
        "The KV cache is nearly full",
        Gauge("voiceagent_llm_cache_usage"),
        0.9,
        "voiceagent_llm_preemptions_total, voiceagent_llm_running, the length of histories",
        "more llm.kv_cache_gib (or kept_tokens), kv_cache_dtype fp8, a smaller history.max_tokens, fewer "
        "calls or one more replica",
    ),
    Rule(
        "gpu_memory",
        "The GPU's memory is nearly full",
        Gauge("voiceagent_gpu_memory_usage"),
        0.97,
        "voiceagent_gpu_memory_usage by GPU, what else runs on it, out-of-memory errors in the log",
        "a smaller gpu_memory_utilization or max_model_len, FP8 weights, nothing else on that GPU",
    ),
    Rule(
        "gpu_busy",
        "The GPU has no time left",
        Gauge("voiceagent_gpu_utilization"),
        0.98,
        "voiceagent_gpu_utilization beside voiceagent_llm_running: whether it is the calls that fill it",
        "fewer calls a GPU (priority.max_utilization), one more replica, FP8, a smaller model",
    ),
    Rule(
        "cache_misses",
        "Prompts are read anew",
        Share("voiceagent_llm_cached_tokens_total", "voiceagent_llm_prompt_tokens_total", MIN_TOKENS),
        0.6,
        'voiceagent_llm_prompt_partings_total by part ("history": see "prompt_prefix_changed" in the log), '
        "whether calls stay at one replica",
        "what changes behind what does not in agent.instructions; enable_prefix_caching; more KV cache; "
        "route each call to the replica that has its prefix",
        below=True,
    ),
    Rule(
        "low_acceptance",
        "Speculation proposes wrong tokens",
        Share("voiceagent_llm_accepted_total", "voiceagent_llm_drafted_total", MIN_DRAFTED),
        0.5,
        "voiceagent_llm_accepted_at_total: at which place of a proposal it goes wrong",
        "a draft that was trained for the model, a smaller num_speculative_tokens, or none",
        below=True,
    ),
    Rule(
        "queueing",
        "Turns wait for a place at the LLM",
        Quantile("voiceagent_llm_gate_seconds", 0.95, MIN_TURNS),
        0.1,
        "voiceagent_llm_running against priority.max_running, voiceagent_llm_refused_calls_total",
        "a higher priority.max_running and the engine's own limit where it has room; fewer turn."
        "preemptive_attempts; a lower priority.max_utilization; one more replica",
    ),
    Rule(
        "prefill",
        "The LLM is slow to its first token",
        Quantile("voiceagent_llm_ttft_seconds", 0.5, MIN_TURNS),
        0.3,
        "voiceagent_prompt_tokens_after_turn_total a turn, the length of agent.instructions and of tools",
        "a shorter system prompt, a smaller history.max_tokens, "
        "max_num_batched_tokens, a smaller model or FP8",
    ),
    Rule(
        "tail",
        "A few callers wait for very long",
        Quantile("voiceagent_llm_ttft_seconds", 0.99, MIN_FOR_P99),
        5.0,
        "long prompts (voiceagent_llm_prompt_tokens_total), bursts, voiceagent_llm_primary_failures_total",
        "a smaller history.max_tokens, a [fallback] with a short timeouts.first_token_s",
    ),
    Rule(
        "batch_steps",
        "Some steps of a batch take much longer than others",
        Spread("voiceagent_llm_itl_seconds", 0.99, MIN_FOR_P99),
        10.0,
        "what is read while others are written: long prompts, prefill while speaking, summaries",
        "a smaller max_num_batched_tokens with chunked prefill, a smaller priority.max_running",
    ),
    Rule(
        "decode",
        "The LLM writes slower than is spoken",
        Quantile("voiceagent_llm_tpot_seconds", 0.5, MIN_TURNS),
        0.1,
        "voiceagent_llm_running: how many responses are written at once",
        "a lower priority.max_running or max_num_seqs, speculation, a smaller or quantized model, "
        "tensor_parallel_size",
    ),
    Rule(
        "tool",
        "Tools answer late",
        Quantile("voiceagent_tool_seconds", 0.95, MIN_TURNS // 2),
        1.0,
        "which tool it is, in the client or the agent that answers it",
        "a faster tool or a cache before it; agent.filler for callers to hear something meanwhile",
    ),
    Rule(
        "speech_fallback",
        "Speech engines fail, and their fallbacks stand in",
        # also to those whose caller hung up unheard: engines were asked in them, and what failed is counted
        Share("voiceagent_speech_primary_failures_total", "voiceagent_turns_total", MIN_TURNS),
        0.05,
        "stage and reason of voiceagent_speech_primary_failures_total, `degraded` at /health, speech_fallback"
        " in the log",
        "the hosted engine's status page, key and limits; timeouts.transcript_s or timeouts.first_audio_s,"
        " where it is only slow",
    ),
    Rule(
        "stt",
        "Speech-to-text is late",
        _over_budget("recognition"),
        0.2,
        "voiceagent_stage_seconds of recognition, voiceagent_degraded of the recognizer",
        "more recognizer.workers, a smaller model, a GPU; or budget.recognition_ms, where that is too strict",
    ),
    Rule(
        "tts",
        "Text-to-speech is late",
        _over_budget("synthesis"),
        0.2,
        "voiceagent_stage_seconds of synthesis, voiceagent_degraded of the synthesizer",
        "more synthesizer.workers, a smaller voice; or budget.synthesis_ms, where that is too strict",
    ),
    Rule(
        "network",
        "The network to callers is slow",
        _over_budget("network"),
        0.2,
        "voiceagent_stage_seconds of network, the callers' way here, their region, packets lost",
        "a gateway nearer to the callers, webrtc.announced_address and TURN where calls go a detour",
    ),
    *SCORES,
)


def judge(window: Window) -> tuple[Finding, ...]:
    """Return a finding for each rule; those that hold first, likeliest cause first."""
    findings = []
    for rule in RULES:
        value = rule.figure.value(window)
        findings.append(Finding(rule, value, value is not None and rule.holds(value)))
    return tuple(sorted(findings, key=lambda finding: not finding.found))
