"""Spans of tool calls, the agent's own and its client's."""

from __future__ import annotations

from dataclasses import dataclass

from llmcore.engine import ToolCall
from voiceagent.telemetry.otlp.trace.attributes import CONTENT, tool_attributes
from voiceagent.telemetry.otlp.trace.spans import CallSpans

MAX_TOOLS = 32
"""Maximum open tool calls; the oldest is then ended as unanswered."""


@dataclass(frozen=True, slots=True)
class _Running:
    call: ToolCall
    parent_key: str
    began_us: int


class ToolSpans:
    """Spans of tool calls, each from the model's call to its output. content: include arguments and
    results.
    """

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
