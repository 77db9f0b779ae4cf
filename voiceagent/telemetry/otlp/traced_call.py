"""Tracing of one call. Shell around `CallTrace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time_ns

from opentelemetry.context import attach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from voiceagent.conversation.call_events import CallEvent
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.trace.call_trace import CallTrace
from voiceagent.telemetry.otlp.trace.spans import CallSpans, Span, new_trace, parse

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
    """Traces one call: a `CallSubscriber` and `CallTracer`. A call that is not sampled costs nothing."""

    def __init__(self, call_id: str, tracing: Tracing) -> None:
        self._clock, self._send = tracing.clock, tracing.send
        now_s = self._clock()
        offset_ns = time_ns() - round(now_s * 1e9)
        self._spans = CallSpans(call_id, new_trace(call_id, tracing.sample), offset_ns)
        self._trace = CallTrace(self._spans, tracing.made_with, now_s, tracing.content)
        self._broken = False

    def join_trace(self, traceparent: str) -> None:
        place = parse(traceparent)
        if place is not None:
            self._spans.place = place

    def traceparent(self, of: str) -> str:
        return self._spans.traceparent(of)

    def enter_tool(self, call_id: str) -> None:
        """See `CallTracer`: spans of OpenTelemetry libraries used by the tool become children of its span."""
        attach(_PROPAGATOR.extract({"traceparent": self.traceparent(call_id)}))

    def on_event(self, event: CallEvent) -> None:
        if not self._spans.place.sampled:
            return
        try:
            self._trace.on_event(event, self._clock())
        except Exception:
            self._broken = True
            raise
        finally:
            if spans := self._spans.drain():
                self._send(spans)

    def unfinished(self) -> tuple[Span, ...]:
        """Return the spans that have not ended, as if they ended now; none if the call is not sampled."""
        if self._broken or not self._spans.place.sampled:
            return ()
        return tuple(self._trace.unfinished(self._clock()))
