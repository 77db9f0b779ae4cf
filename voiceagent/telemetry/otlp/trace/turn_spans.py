"""Spans of a response, of its tool calls, and of the turn that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from llmcore.engine import Generation, ToolCall, Usage
from voiceagent.conversation.latency import Moment, TurnReport
from voiceagent.telemetry.otlp.trace.attributes import (
    CONTENT,
    EngineNames,
    chat_attributes,
    operation_attributes,
    tool_attributes,
    turn_attributes,
)
from voiceagent.telemetry.otlp.trace.spans import CALL, Attributes, CallSpans

MAX_TOOLS = 32
"""Maximum open tool calls; the oldest is then ended as unanswered."""
Moments = Mapping[Moment, int]
"""Microseconds of the clock."""


@dataclass(frozen=True, slots=True)
class _Running:
    call: ToolCall
    parent_key: str
    began_us: int


class ToolSpans:
    """Spans of tool calls, each from the model's call to its output. content: with arguments and results."""

    def __init__(self, spans: CallSpans, content: bool) -> None:
        self._spans = spans
        self._content = content
        self._running: dict[str, _Running] = {}
        self._ended: set[str] = set()

    def begin(self, call: ToolCall, parent_key: str, now_us: int) -> None:
        """Start the span of a tool call. parent_key: key of the parent span."""
        if call.call_id in self._ended:  # a model may repeat an id, and span ids follow from it
            return
        self._running[call.call_id] = _Running(call, parent_key, now_us)
        if len(self._running) > MAX_TOOLS:
            self.end(next(iter(self._running)), "unanswered", "", now_us)

    def end(self, call_id: str, outcome: str, output: str, now_us: int) -> None:
        """End the span of a tool call. outcome: done, failed, cancelled or unanswered."""
        running = self._running.pop(call_id, None)
        if running is None:
            return
        self._ended.add(call_id)
        call = running.call
        attributes = tool_attributes(call.name, call_id) | {"voiceagent.tool.outcome": outcome}
        if self._content:
            attributes |= {f"{CONTENT}tool.arguments": call.arguments, f"{CONTENT}tool.result": output}
        error = "tool" if outcome == "failed" else ""
        self._spans.add(
            f"execute_tool {call.name}",
            call_id,
            running.parent_key,
            running.began_us,
            now_us,
            attributes,
            error,
        )

    def end_all(self, now_us: int) -> None:
        """End all open spans at the end of the call."""
        for call_id in list(self._running):
            self.end(call_id, "unanswered", "", now_us)


@dataclass(slots=True)
class TracedTurn:
    """A turn; times in microseconds of the clock.

    spoken: it began with the caller's voice. committed: it is an item of the conversation. report: of the
    response whose stages `attributes` has.
    """

    key: str
    began_us: int
    ended_us: int
    spoken: bool = False
    committed: bool = False
    answered: bool = False
    called_tools: bool = False
    settled_us: int | None = field(default=None, init=False)
    failure: str = field(default="", init=False)
    report: TurnReport | None = field(default=None, init=False)
    attributes: Attributes = field(default_factory=dict, init=False)

    def add_report(self, report: TurnReport) -> None:
        """Add a response of the turn. The first with audio gives the stages: the caller waited for that."""
        outcome, counts, shown = report.outcome, report.counts, report
        if self.report is not None:
            counts += self.report.counts
            shown = self.report if self.report.audible else report
        self.report = replace(shown, outcome=outcome, counts=counts)
        self.attributes |= turn_attributes(self.report)

    @property
    def span(self) -> str:
        """Key of the turn's span. A turn has the id of its item or of a response."""
        return f"turn {self.key}"


@dataclass(slots=True)
class TracedResponse:
    """A response. request: None if the LLM is not asked. known: the client was
    notified of it.

    reported: its spans are added. played: its playout is over.
    """

    turn: TracedTurn
    began_us: int
    request: Generation | None
    preemptive: bool
    out_of_band: bool = False
    known: bool = field(default=False, init=False)
    usage: Usage = field(default_factory=Usage, init=False)
    finish_reason: str = field(default="", init=False)
    failure: str = field(default="", init=False)
    sounded_us: int | None = field(default=None, init=False)
    samples: int = field(default=0, init=False)
    written: str = field(default="", init=False)
    reported: bool = field(default=False, init=False)
    played: bool = field(default=False, init=False)


class TurnSpans:
    """Adds the spans of ended turns and responses. content: include transcripts."""

    def __init__(self, spans: CallSpans, made_with: EngineNames, content: bool) -> None:
        self._spans = spans
        self._made_with = made_with
        self._content = content

    def add_turn(self, turn: TracedTurn) -> None:
        """Add the span of a turn, and of its recognition if it was spoken."""
        if turn.spoken:
            attributes = operation_attributes("speech_to_text", self._made_with.recognizer)
            until_us = turn.ended_us if turn.settled_us is None else turn.settled_us
            key, failure = f"stt {turn.key}", turn.failure
            self._spans.add("speech_to_text", key, turn.span, turn.began_us, until_us, attributes, failure)
        about: Attributes = {"voiceagent.turn.id": turn.key, **turn.attributes}
        self._spans.add("turn", turn.span, CALL, turn.began_us, turn.ended_us, about)

    def add_chat(self, response_id: str, response: TracedResponse, moments: Moments, now_us: int) -> None:
        """Add the span of the LLM request, if there was one. moments: those known so far."""
        if response.request is None:
            return
        began_us = moments.get("llm_request", response.began_us)
        attributes = chat_attributes(
            self._made_with, response.request, response.usage, response.finish_reason
        )
        if "first_token" in moments:
            attributes["gen_ai.response.time_to_first_chunk"] = (moments["first_token"] - began_us) / 1e6
        used = "used" if response.known else "wasted"
        attributes["voiceagent.llm.preemptive"] = used if response.preemptive else "no"
        if self._content:
            attributes[f"{CONTENT}written"] = response.written
        name = f"chat {self._made_with.model}".strip()
        error = response.failure if response.failure in ("llm", "limits") else ""
        until_us = moments.get("text_complete", now_us)
        self._spans.add(name, response_id, response.turn.span, began_us, until_us, attributes, error)

    def add_speech(self, response_id: str, response: TracedResponse, moments: Moments, now_us: int) -> None:
        """Add the span of the speech synthesis, if there was any."""
        began_us = moments.get("first_fragment", response.began_us)
        if response.sounded_us is None and response.failure != "synthesizer":
            return
        attributes = operation_attributes("text_to_speech", self._made_with.synthesizer)
        attributes["voiceagent.speech.length_s"] = response.samples / self._made_with.rate_hz
        if "first_sound" in moments:
            attributes["voiceagent.speech.time_to_first_sound_s"] = (moments["first_sound"] - began_us) / 1e6
        error = "synthesizer" if response.failure == "synthesizer" else ""
        until_us = now_us if response.sounded_us is None else response.sounded_us
        key, parent_key = f"tts {response_id}", response.turn.span
        self._spans.add("text_to_speech", key, parent_key, began_us, until_us, attributes, error)
