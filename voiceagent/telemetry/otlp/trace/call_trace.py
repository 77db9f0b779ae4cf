"""Trace of one call, built from its conversation's events and commands. Time is an argument.

    call ─┬─ turn ─┬─ speech_to_text     the caller's voice, until its transcript is settled
          │        ├─ chat {model}       a request to the LLM, also that of a preemptive response
          │        ├─ execute_tool {tool}
          │        └─ text_to_speech     from the first fragment to the last audio
          └─ turn ...

A turn lasts from the caller's first voiced sample to the end of its response; a response to a tool's result
belongs to the turn in which the tool was called. The times are the stamps of the latency ledger
(`TurnReport.moments_us`), so that a trace and the waterfall of a turn agree. A turn's stages are those of its
first response with audio, which the caller waited for; its costs are those of all its responses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import CallEnded, CallEvent, EventHandled, ResponseDone
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.telemetry.otlp.trace.attributes import CONTENT, EngineNames
from voiceagent.telemetry.otlp.trace.spans import CALL, Attributes, CallSpans, Span
from voiceagent.telemetry.otlp.trace.turn_spans import (
    Moments,
    ToolSpans,
    TracedResponse,
    TracedTurn,
    TurnSpans,
)

REMEMBERED_TURNS = 16
"""Maximum turns kept; unanswered ones are noises, and the oldest end first."""


class CallTrace:
    """Builds spans from the events of a call. began_s: start of the call. content: include transcripts."""

    def __init__(
        self, spans: CallSpans, made_with: EngineNames, began_s: float, content: bool = False
    ) -> None:
        self.spans = spans
        self._made_with = made_with
        self._began_us = self._now_us = _microseconds(began_s)
        self._content = content
        self._received_s = 0.0
        self._turns: dict[str, TracedTurn] = {}
        self._answered: TracedTurn | None = None  # by the newest response
        self._responses: dict[str, TracedResponse] = {}
        self._turn_spans = TurnSpans(spans, made_with, content)
        self._tools = ToolSpans(spans, content)
        self._ended_turns = 0

    def on_event(self, event: CallEvent, now_s: float) -> None:
        """Add an event of the call; the others have no place in a trace."""
        if isinstance(event, EventHandled):
            self._handled(event, now_s)
        elif isinstance(event, ResponseDone):
            self._response_done(event.report)
        elif isinstance(event, CallEnded):
            self._ended(event.reason, event.end_code, now_s)

    def _handled(self, handled: EventHandled, now_s: float) -> None:
        self._now_us, self._received_s = _microseconds(now_s), handled.received_s
        if (handler := _HANDLERS.get(type(handled.event))) is not None:
            handler(self, handled.event)
        for command in handled.commands:
            if (handler := _HANDLERS.get(type(command))) is not None:
                handler(self, command)

    def _response_done(self, report: TurnReport) -> None:
        """End a response that is over for its client. report: its stages."""
        response = self._responses.get(report.response_id)
        if response is None:
            return
        moments, turn = dict(report.moments_us), response.turn
        turn.settled_us = moments.get("transcript_final", turn.settled_us)
        turn.add_report(report)
        self._end_response(report.response_id, moments)

    def _ended(self, reason: str, end_code: str, now_s: float) -> None:
        self._now_us = _microseconds(now_s)
        for response_id in list(self._responses):
            self._end_late_response(response_id)
        self._tools.end_all(self._now_us)
        for key in list(self._turns):
            self._end_turn(key)
        attributes: Attributes = {
            "voiceagent.call.turns": self._ended_turns,
            "voiceagent.call.end": reason,
            "voiceagent.call.end_code": end_code,
        }
        self.spans.add_call(self._began_us, self._now_us, attributes)

    def unfinished(self, now_s: float) -> list[Span]:
        """Return the open spans of turns, responses and the call, as if they ended now."""
        now_us = _microseconds(now_s)
        spans = self.spans.empty_copy()
        of_turns = TurnSpans(spans, self._made_with, self._content)
        for response_id, response in self._responses.items():
            if response.known and not response.reported:
                of_turns.add_chat(response_id, response, {}, now_us)
                of_turns.add_speech(response_id, response, {}, now_us)
                if response.out_of_band:
                    of_turns.add_turn(response.turn)
        for turn in self._turns.values():
            if turn.committed or turn.answered:
                of_turns.add_turn(turn)
        spans.add_call(self._began_us, now_us, {"voiceagent.call.turns": self._ended_turns})
        return spans.drain()

    # ---- the caller's turns

    def _recognition_begins(self, command: do.StartRecognition) -> None:
        self._spoken(command.item_id, self._now_us - max(0, _microseconds(self._received_s - command.at_s)))

    def _speech_begins(self, command: notify.NotifySpeechStarted) -> None:
        """Begin a turn of an upstream call, unless it has begun. Its positions count from the start
        of the connection, so the current time is used.
        """
        if command.item_id not in self._turns:
            self._spoken(command.item_id, self._now_us)

    def _spoken(self, key: str, began_us: int) -> None:
        self._turns[key] = TracedTurn(key, began_us, self._now_us, spoken=True)
        while len(self._turns) > REMEMBERED_TURNS:
            self._end_turn(next(iter(self._turns)))

    def _transcribed(self, event: ev.TranscriptChanged) -> None:
        turn = self._turns.get(event.item_id)
        if turn is not None and event.settled:
            turn.settled_us = self._now_us

    def _recognition_failed(self, event: ev.RecognitionFailed) -> None:
        if (turn := self._turns.get(event.item_id)) is not None:
            turn.failure, turn.settled_us = "recognizer", self._now_us

    def _committed(self, command: notify.NotifyInputCommitted) -> None:
        if (turn := self._turns.get(command.item_id)) is not None:
            turn.committed, turn.ended_us = True, self._now_us

    def _said(self, command: notify.NotifyTranscript) -> None:
        turn = self._turns.get(command.item_id)
        if turn is None or not command.final:
            return
        turn.settled_us = turn.settled_us or self._now_us  # upstream calls have no other sign
        if self._content:
            turn.attributes[f"{CONTENT}said"] = command.text

    def _end_turn(self, key: str) -> None:
        """End a turn. One that was neither committed nor answered leaves no span."""
        turn = self._turns.pop(key)
        if not (turn.committed or turn.answered):
            return
        self._ended_turns += 1
        self._turn_spans.add_turn(turn)

    # ---- responses; the conversation has one at a time, besides those out of band

    def _response_begins(self, command: do.StartResponse) -> None:
        if command.out_of_band:
            self._begin_out_of_band(command)
            return
        if not command.preemptive:  # a preemptive response may start while another one is played
            self._end_late_responses()
        turn = self._turn_of(command.response_id, command.turn_id)
        request = None if command.say else command.request
        self._responses[command.response_id] = TracedResponse(turn, self._now_us, request, command.preemptive)

    def _begin_out_of_band(self, command: do.StartResponse) -> None:
        """Begin an out-of-band response: a turn of its own, which ends with it."""
        turn = TracedTurn(command.response_id, self._now_us, self._now_us)
        self._responses[command.response_id] = TracedResponse(
            turn, self._now_us, command.request, False, out_of_band=True
        )

    def _response_known(self, command: notify.NotifyResponseStarted) -> None:
        response = self._responses.get(command.response_id)
        if response is None:  # an apology for a turn without a transcript
            turn = self._turn_of(command.response_id, None)
            response = self._responses[command.response_id] = TracedResponse(turn, self._now_us, None, False)
        elif response.preemptive:
            self._end_late_responses(command.response_id)
        response.known = True

    def _turn_of(self, response_id: str, turn_id: str | None) -> TracedTurn:
        """Return the turn that a response belongs to, and end those before it."""
        turn = self._turns.get(turn_id) if turn_id is not None else self._unanswered()
        if turn is None:
            key = turn_id or response_id
            turn = self._turns[key] = TracedTurn(key, self._now_us, self._now_us)
        turn.answered = True
        self._answered = turn
        for key in [t.key for t in self._turns.values() if t is not turn and (t.committed or t.answered)]:
            self._end_turn(key)
        return turn

    def _unanswered(self) -> TracedTurn | None:
        """Return the turn answered by a response that was requested without one, if any."""
        waiting = [turn for turn in self._turns.values() if turn.committed and not turn.answered]
        if waiting:
            return waiting[-1]
        return self._answered if self._answered is not None and self._answered.called_tools else None

    def _given_up(self, command: do.CancelResponse) -> None:
        response = self._responses.get(command.response_id)
        if response is not None and not response.known:
            self._turn_spans.add_chat(command.response_id, response, {}, self._now_us)
            del self._responses[command.response_id]

    def _interrupted(self, command: do.StopPlayout) -> None:
        if (response := self._responses.get(command.response_id)) is not None and command.interrupted_by:
            response.turn.attributes["voiceagent.turn.interrupted_by"] = command.interrupted_by

    def _sounded(self, event: ev.SpeechReady) -> None:
        if (response := self._responses.get(event.response_id)) is not None:
            response.sounded_us = self._now_us

    def _plays(self, command: do.Play) -> None:
        if (response := self._responses.get(command.response_id)) is not None:
            response.samples += len(command.speech.samples)

    def _generated(self, event: ev.ResponseGenerated) -> None:
        if (response := self._responses.get(event.response_id)) is not None:
            response.usage, response.finish_reason = event.usage, event.finish_reason

    def _failed(self, event: ev.ResponseFailed) -> None:
        if (response := self._responses.get(event.response_id)) is not None:
            response.failure = event.stage

    def _wrote(self, command: notify.NotifyResponseText) -> None:
        if self._content and (response := self._responses.get(command.response_id)) is not None:
            response.written += command.text

    def _played(self, event: ev.PlayoutPlayed) -> None:
        if (response := self._responses.get(event.response_id)) is not None:
            self._played_until(event.response_id, response.samples / self._made_with.rate_hz)

    def _stopped(self, event: ev.PlayoutStopped | ev.CallerGone) -> None:
        self._played_until(event.response_id, event.played_s)

    def _played_until(self, response_id: str, played_s: float) -> None:
        if (response := self._responses.get(response_id)) is not None:
            response.turn.attributes["voiceagent.turn.played_until_s"] = played_s
            response.turn.ended_us = self._now_us
            response.played = True
            if response.reported:
                del self._responses[response_id]

    def _end_response(self, response_id: str, moments: Moments) -> None:
        response = self._responses[response_id]
        if not response.reported:
            self._turn_spans.add_chat(response_id, response, moments, self._now_us)
            self._turn_spans.add_speech(response_id, response, moments, self._now_us)
            response.turn.ended_us = self._now_us
        response.reported = True
        if response.played or not response.samples:
            del self._responses[response_id]
        if response.out_of_band:
            self._ended_turns += 1
            self._turn_spans.add_turn(response.turn)

    def _end_late_responses(self, except_for: str = "") -> None:
        """End all responses of the conversation except `except_for`, as only one can be played."""
        late = [key for key, one in self._responses.items() if not one.out_of_band and key != except_for]
        for response_id in late:
            self._end_late_response(response_id)

    def _end_late_response(self, response_id: str) -> None:
        self._responses[response_id].played = True
        self._end_response(response_id, {})

    # ---- tools

    def _calls_tools(self, event: ev.ToolCallsReady) -> None:
        if (response := self._responses.get(event.response_id)) is not None:
            response.turn.called_tools = True

    def _tool_begins(self, command: do.RunTool | notify.NotifyToolCall) -> None:
        turn = self._answered
        self._tools.begin(command.call, CALL if turn is None else turn.span, self._now_us)

    def _tool_ends(self, event: ev.ToolFinished) -> None:
        self._tools.end(event.call_id, event.outcome, event.output, self._now_us)

    def _item_created(self, event: ev.ItemCreated) -> None:
        if isinstance(event.item, ToolOutputItem):
            self._tools.end(event.item.call_id, "done", event.item.output, self._now_us)
        elif isinstance(event.item, MessageItem) and self._answered is not None:
            self._answered.called_tools = False  # the next response no longer continues the tools' answer


_HANDLERS: dict[type[Any], Callable[[CallTrace, Any], None]] = {
    do.StartRecognition: CallTrace._recognition_begins,
    notify.NotifySpeechStarted: CallTrace._speech_begins,
    ev.TranscriptChanged: CallTrace._transcribed,
    ev.RecognitionFailed: CallTrace._recognition_failed,
    notify.NotifyInputCommitted: CallTrace._committed,
    notify.NotifyTranscript: CallTrace._said,
    do.StartResponse: CallTrace._response_begins,
    notify.NotifyResponseStarted: CallTrace._response_known,
    do.CancelResponse: CallTrace._given_up,
    do.StopPlayout: CallTrace._interrupted,
    ev.SpeechReady: CallTrace._sounded,
    do.Play: CallTrace._plays,
    ev.ResponseGenerated: CallTrace._generated,
    ev.ResponseFailed: CallTrace._failed,
    notify.NotifyResponseText: CallTrace._wrote,
    ev.PlayoutPlayed: CallTrace._played,
    ev.PlayoutStopped: CallTrace._stopped,
    ev.CallerGone: CallTrace._stopped,
    ev.ToolCallsReady: CallTrace._calls_tools,
    do.RunTool: CallTrace._tool_begins,
    notify.NotifyToolCall: CallTrace._tool_begins,
    ev.ToolFinished: CallTrace._tool_ends,
    ev.ItemCreated: CallTrace._item_created,
}
"""Handlers by type of event and command; other types are ignored."""


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)
