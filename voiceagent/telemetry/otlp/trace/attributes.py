"""Attributes of a call's spans.

`gen_ai.*` are OpenTelemetry's semantic conventions for generative AI, version 0.1.0; attributes they do not
define are `voiceagent.*`. All that may be personal is `voiceagent.content.*`, so that a collector can filter
by that prefix.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmcore.engine import Generation, Usage
from voiceagent.conversation.latency import TurnReport
from voiceagent.telemetry.otlp.trace.spans import Attributes

CONVENTIONS = "0.1.0"
"""Version of the semantic conventions: https://github.com/open-telemetry/semantic-conventions-genai, tag
v0.1.0.
"""
CONTENT = "voiceagent.content."


@dataclass(frozen=True, slots=True)
class EngineNames:
    """Names of a call's engines in the configuration, and the LLM's model, "" if it has none.

    rate_hz: sample rate of the synthesizer.
    """

    recognizer: str
    llm: str
    model: str
    synthesizer: str
    rate_hz: int


def chat_attributes(
    engines: EngineNames, request: Generation, usage: Usage, finish_reason: str
) -> Attributes:
    """Return the attributes of one LLM request."""
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": engines.llm,
        "gen_ai.output.type": "text",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "voiceagent.llm.gate_s": usage.gate_s,
    }
    if usage.written_tokens:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.written_tokens
    if engines.model:
        attributes["gen_ai.request.model"] = engines.model
    if finish_reason:
        attributes["gen_ai.response.finish_reasons"] = (finish_reason,)
    if usage.queue_s is not None:
        attributes["voiceagent.llm.queue_s"] = usage.queue_s
    return attributes


def operation_attributes(operation: str, provider: str) -> Attributes:
    """Return the attributes of operations that the conventions lack: `speech_to_text`, `text_to_speech`."""
    return {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider}


def tool_attributes(name: str, call_id: str) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.type": "function",
    }


def turn_attributes(report: TurnReport) -> Attributes:
    """Return the attributes of a turn: stages of the wait, the end-of-turn decision, preemptive work."""
    counts, end_of_turn = report.counts, report.end_of_turn
    attributes: Attributes = {
        "voiceagent.turn.outcome": report.outcome,
        "voiceagent.turn.over_budget": report.over_budget,
        "voiceagent.preemptive.begun": counts.preemptive_attempts,
        "voiceagent.preemptive.used": counts.preemptive_hits,
        "voiceagent.preemptive.wasted": counts.preemptive_attempts - counts.preemptive_hits,
        "voiceagent.preemptive.tokens_wasted": counts.tokens_wasted,
        "voiceagent.prompt.tokens": counts.prompt_tokens,
        "voiceagent.prompt.tokens_read_after_turn": counts.prompt_tokens_after_turn,
        "voiceagent.thought.tokens": counts.thought_tokens,
    }
    if report.wait_us is not None:
        attributes["voiceagent.turn.wait_s"] = report.wait_us / 1e6
    for stage in report.stages:
        attributes[f"voiceagent.stage.{stage.name}_s"] = stage.duration_s
        if stage.hidden_us:
            attributes[f"voiceagent.stage.{stage.name}_ahead_s"] = stage.hidden_us / 1e6
    if report.interrupted_by:
        attributes["voiceagent.turn.interrupted_by"] = report.interrupted_by
    if report.end_code:
        attributes["voiceagent.turn.end_code"] = report.end_code
    if report.stages and report.stages[0].name == "endpointing":
        attributes["voiceagent.end_of_turn.delay_s"] = report.stages[0].duration_s
    if end_of_turn is not None:
        attributes["voiceagent.end_of_turn.probability"] = end_of_turn.probability
        attributes["voiceagent.end_of_turn.silence_s"] = end_of_turn.silence_s
    return attributes
