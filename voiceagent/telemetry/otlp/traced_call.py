"""Tracing of one call: a `Keeping` that ignores audio. Shell around `CallTrace`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import time_ns

import structlog
from opentelemetry.context import attach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from audio.pcm import Samples
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.trace.call_trace import CallTrace
from voiceagent.telemetry.otlp.trace.spans import CallSpans, Span
from voiceagent.telemetry.otlp.trace.traceparent import new_trace, parse

_PROPAGATOR = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class Tracing:
    """Settings of tracing, see `OtlpConfig`. send: accepts ended spans without blocking."""

    made_with: EngineNames
    sample: float
    content: bool
    clock: Callable[[], float]
    send: Callable[[Sequence[Span]], None]


class TracedCall:
    """Traces one call. Never blocks or raises: an internal error ends the trace, not the call."""

    def __init__(self, call_id: str, tracing: Tracing) -> None:
        self._log = structlog.get_logger().bind(call=call_id)
        self._clock, self._send = tracing.clock, tracing.send
        now_s = self._clock()
        offset_ns = time_ns() - round(now_s * 1e9)
        self._spans = CallSpans(call_id, new_trace(call_id, tracing.sample), offset_ns)
        self._trace = CallTrace(self._spans, tracing.made_with, now_s, tracing.content)
        self._broken = False

    def joined_trace(self, traceparent: str) -> None:
        place = parse(traceparent)
        if place is not None:
            self._spans.place = place

    def traceparent(self, of: str) -> str:
        return self._spans.traceparent(of)

    def tool_began(self, call_id: str) -> None:
        """Make spans of OpenTelemetry libraries used by the tool children of its span."""
        attach(_PROPAGATOR.extract({"traceparent": self.traceparent(call_id)}))

    def identified(self, line_call: str, parameters: Mapping[str, str]) -> None:
        """Nothing: whose call it is has no place in a trace."""

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        """See `Keeping`."""
        self._guarded(lambda: self._trace.took(event, received_s, commands, self._clock()))

    def heard(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """Nothing."""

    def sent(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """Nothing."""

    def speaks(self) -> None:
        """Nothing: of what an upstream does a trace has the caller's voice alone."""

    def stopped(self, response_id: str, played_s: float) -> None:
        """Nothing: an event tells it."""

    def played(self, message: MessageItem) -> None:
        """Nothing: a response's span has its end from elsewhere."""

    def answered(self, report: TurnReport) -> None:
        """See `Keeping`."""
        self._guarded(lambda: self._trace.answered(report))

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """See `Keeping`."""
        self._guarded(lambda: self._trace.ended(reason, self._clock()))

    def unfinished(self) -> tuple[Span, ...]:
        """Return the spans that have not ended, as if they ended now; none if the call is not sampled."""
        if self._broken or not self._spans.place.sampled:
            return ()
        return tuple(self._trace.unfinished(self._clock()))

    def _guarded(self, tell: Callable[[], None]) -> None:
        if self._broken or not self._spans.place.sampled:
            return
        try:
            tell()
        except Exception as error:
            self._broken = True
            self._log.error("trace_failed", exc_info=error)
        if spans := self._spans.drain():
            self._send(spans)
