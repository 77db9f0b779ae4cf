"""The trace of a call without engines, as its session would have it made."""

from __future__ import annotations

from call_world import RATE_HZ, CallWorld

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import CallEnded, EventHandled, ResponseDone
from voiceagent.conversation.latency import LatencyBudget, TurnReport
from voiceagent.session.services import Measuring
from voiceagent.session.turn_stamps import TurnStamps
from voiceagent.telemetry.metrics import Metrics
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.trace.call_trace import CallTrace
from voiceagent.telemetry.otlp.trace.spans import CallSpans, Span, TraceContext, new_trace

MADE_WITH = EngineNames("moonshine", "vllm", "small", "espeak", RATE_HZ)
STEP_S = 0.5


class TracedWorld:
    """All that happened in a call, half a second after each other from 100 s on; the sound is as old as the
    clock. reports: of its turns.
    """

    def __init__(self, world: CallWorld, content: bool = False, place: TraceContext | None = None) -> None:
        self.spans_made = CallSpans("call_1", place or new_trace("call_1", 1.0), offset_ns=0)
        self._trace = CallTrace(self.spans_made, MADE_WITH, 100.0, content)
        self._now_s = 100.0
        self._stamps = TurnStamps(
            Measuring(Metrics(), LatencyBudget(), lambda: self._now_s), lambda at_s: 100.0 + at_s
        )
        self.reports: list[TurnReport] = []
        for step in world.steps:
            self._now_s += STEP_S
            self._stamps.on_event(step.event)
            self._trace.on_event(
                EventHandled(step.event, self._now_s - 100.0, (), step.commands), self._now_s
            )
            for command in step.commands:
                self._carry_out(command)
            if isinstance(step.event, ev.CallerGone):
                self._answered(self._stamps.hung_up())
        self._now_s += STEP_S
        self._trace.on_event(CallEnded("the caller hung up", ()), self._now_s)
        self.spans: list[Span] = self.spans_made.drain()

    def _carry_out(self, command: do.Command) -> None:
        self._stamps.on_command(command)
        if isinstance(command, do.StartResponse) and not command.say:
            self._stamps.milestone(command.response_id, "llm_request")
        if isinstance(command, do.Play):
            for milestone in ("first_token", "first_fragment", "first_sound", "text_complete"):
                self._stamps.milestone(command.response_id, milestone)
            self._stamps.first_frame(command.response_id, self._now_s)
        if isinstance(command, do.CancelResponse):
            self._stamps.cancelled(command.response_id, 3)
        if isinstance(command, notify.NotifyResponseEnded):
            report = self._stamps.report(command)
            self._answered([] if report is None else [report])

    def _answered(self, reports: list[TurnReport]) -> None:
        for report in reports:
            self.reports.append(report)
            self._trace.on_event(ResponseDone(report), self._now_s)

    def of(self, name: str) -> list[Span]:
        """The spans whose name is this, or begins with it as a word, in the order of their beginning."""
        found = [span for span in self.spans if span.name.split()[0] == name]
        return sorted(found, key=lambda span: span.start_ns)
