"""Fork of a call: its continuation under other settings from some event on.

It runs on a virtual clock. The caller speaks, and a client sends requests, as in the log; ends of turns,
responses and playout are decided again. Engines give the logged answer to the same request (`answers`), and
live ones answer others; no tool is run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, cast

from llmcore.engine import Usage
from voiceagent.calls.log.codec import Inline, encode
from voiceagent.calls.log.event_log import CallLog, LoggedRecord
from voiceagent.calls.replaying.answers import Answers, ClockReading, LiveEngines
from voiceagent.calls.replaying.forked import Change, Forked, Step
from voiceagent.calls.replaying.recorded_answers import Action, DelayedEvents, PooledIds
from voiceagent.calls.replaying.replay import CannotReplay, check_words, has_upstream, whole_records
from voiceagent.calls.replaying.virtual_speaker import Agenda, VirtualSpeaker
from voiceagent.calls.replaying.voice import CallersVoice, first_silence
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.filler_delay import FillerDelay
from voiceagent.conversation.history import CANCELLED, CANCELLED_BY_MODEL
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.turn_policy import TurnPolicy

_PLAYOUT_EVENTS = ev.PlayoutSent | ev.PlayoutPlayed | ev.PlayoutStopped | ev.ResponseLate
_INDEPENDENT_EVENTS = (
    ev.ClientRequest | ev.CallStarted | ev.PreemptiveAllowed | ev.McpListed | Action | ev.HookFailed
)
_VOICE_EVENTS = (
    ev.VoiceNoticed
    | ev.VoiceFaded
    | ev.VoiceLouder
    | ev.SpeechStarted
    | ev.SpeechPaused
    | ev.SpeechResumed
    | ev.InterruptionCandidate
    | ev.InterruptionConfirmed
    | ev.SpokeOverAgent
    | ev.EchoMeasured
)


def fork(log: CallLog, change: Change, live: LiveEngines | None = None) -> Forked:
    """Run a call under other settings. live: answers new requests; without it these get the answer to the
    nearest logged request. Raises CannotReplay.
    """
    check_words(log)
    if has_upstream(log):
        unknown = "what that would have decided under other settings is not known here"
        raise CannotReplay(f"the core of this call was an upstream: {unknown}; without --set it is run again")
    if not 1 <= change.since <= len(log.records):
        raise CannotReplay(f"there is no event {change.since}; allowed: 1 to {len(log.records)}")
    return _Fork(log, change, live).run()


class _PolicyInForce:
    """Proxy of the current policy."""

    def __init__(self, policy: TurnPolicy) -> None:
        self.now = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


class _Fork:
    """A logged call, run again up to the fork and continued there. Before the fork all events are the log's;
    their effects are only tracked."""

    def __init__(self, log: CallLog, change: Change, live: LiveEngines | None) -> None:
        self._change = change
        self._records = list(whole_records(log))
        self._policy = _PolicyInForce(log.header.policy)
        ids = PooledIds(log)
        policy = cast("TurnPolicy", self._policy)
        self._conversation = Conversation(log.header.settings, policy, log.header.rate_hz, ids)
        self._answers = Answers(log, live, change.live_stages)
        self._speaker = VirtualSpeaker(log.header.rate_hz)
        self._voice = CallersVoice(log, change.endpoint)
        self._agenda = Agenda()
        self._now_s = log.header.clock_s
        self._steps: list[Step] = []
        self._live: set[str] = set()  # unfinished responses and tools
        self._late = self._idle = 0
        self._filler_delay = FillerDelay(change.late_s)
        self._forked = False

    def run(self) -> Forked:
        before, after = self._records[: self._change.since - 1], self._records[self._change.since - 1 :]
        for record in before:
            self._now_s = record.clock_s
            self._voice.apply(record.event, self._now_s)
            self._handle(record.event, record.received_s)
            self._agenda.clear()
        self._apply_change()
        for record in after:
            self._plan_logged(record)
        self._poll_speaker()
        end_s = self._records[-1].clock_s
        while (planned := self._agenda.next(end_s)) is not None:
            self._now_s = max(self._now_s, planned.at_s)
            if planned.event is None:
                self._poll_speaker()
            elif planned.valid():
                self._on_planned(planned.event)
        return Forked(tuple(self._steps), self._answers.counts)

    def _apply_change(self) -> None:
        self._forked = True
        self._policy.now = self._change.policy
        self._conversation.settings = self._change.settings(self._conversation.settings)

    def _plan_logged(self, record: LoggedRecord) -> None:
        """Plan a logged event if it does not depend on the agent, or belongs to a response or tool that is
        unfinished at the fork.
        """
        event, at_s = record.event, record.clock_s
        making = getattr(event, "response_id", None) in self._live and not isinstance(event, _PLAYOUT_EVENTS)
        if tool := self._answers.tool_of(record):
            if tool in self._live:
                self._agenda.plan(at_s, event, lambda: tool in self._live)
        elif isinstance(event, ev.TranscriptChanged) and self._answers.recognizes(event.item_id):
            item_id = event.item_id
            self._agenda.plan(at_s, event, lambda: self._answers.recognizes(item_id))
        elif isinstance(event, ev.SettingsChanged):
            self._agenda.plan(at_s, ev.SettingsChanged(self._change.settings(event.settings)))
        elif isinstance(event, _INDEPENDENT_EVENTS | _VOICE_EVENTS) or making:
            self._agenda.plan(at_s, event)

    def _plan_later(self, later: DelayedEvents, valid: Callable[[], bool] = lambda: True) -> None:
        for after_s, event in later:
            self._agenda.plan(self._now_s + after_s, event, valid)

    def _on_planned(self, event: ev.Event) -> None:
        """Handle an event, unless the caller's turn has changed meanwhile."""
        if not isinstance(event, _VOICE_EVENTS):
            self._voice.apply(event, self._now_s)
            self._handle(event, self._now().received_s)
            return
        means = self._voice.translate(event, self._now_s)
        if means is None:
            return
        detection = self._conversation.settings.turn_detection
        if isinstance(means, ev.SpeechPaused) and detection is not None:
            self._end_turn_after(first_silence(detection))
        self._handle(means, self._now().received_s)
        if isinstance(means, ev.SpeechResumed):
            self._plan_if_forked(self._answers.turn_resumed(means.at_s, self._now()))
        elif isinstance(means, ev.SpeechStarted) and isinstance(event, ev.SpeechResumed):
            self._interrupt(means)

    def _interrupt(self, started: ev.SpeechStarted) -> None:
        """Plan interruptions from the voice's duration: the log has none of a voice that was no turn."""
        generation, told_late_s = self._voice.generation, self._now().received_s - started.at_s
        for after_s, event in self._voice.interruptions(started):
            at_s = self._now_s + max(0.0, after_s - told_late_s)
            self._agenda.plan(at_s, event, lambda: self._voice.generation == generation)

    def _end_turn_after(self, silence_s: float) -> None:
        """Let the current pause end the turn after this silence."""
        at_s, ended = self._voice.schedule_end(silence_s, self._now_s)
        generation = self._voice.generation
        self._agenda.plan(at_s, ended, lambda: self._voice.paused and self._voice.generation == generation)

    def _now(self) -> ClockReading:
        """Return the current time: the media clock continues from the last record."""
        index = bisect_right(self._records, self._now_s, key=lambda record: record.clock_s)
        if not index:
            return ClockReading(self._now_s, 0.0)
        record = self._records[index - 1]
        passed_s = self._now_s - record.clock_s if self._forked else 0.0
        return ClockReading(self._now_s, record.received_s + passed_s)

    def _handle(self, event: ev.Event, received_s: float) -> None:
        if isinstance(event, ev.ToolFinished):
            self._live.discard(event.call_id)
        commands = self._conversation.handle(event)
        written = [encode(command, Inline()) for command in commands]
        self._steps.append(Step(self._now_s, received_s, event, written))
        for command in commands:
            self._execute(command, event)
        if self._forked:
            self._monitor_idleness()
            self._poll_speaker()

    def _execute(self, command: do.Command, event: ev.Event) -> None:
        match command:
            case do.StartRecognition() | do.FlushRecognition() | do.StopRecognition():
                self._recognize(command, event)
            case do.RequireSilence() if self._forked and self._voice.paused:
                self._end_turn_after(command.silence_s)
            case do.JudgeTurn(item_id) if self._forked:
                self._plan_if_forked(self._answers.judgement(item_id, self._now()))
            case do.AskTurnEnd() if self._forked:
                self._plan_if_forked(self._answers.turn_end(command))
            case do.ReviewResponse() if self._forked:
                self._plan_if_forked(self._answers.review(command))
            case do.Summarise() if self._forked:
                self._plan_if_forked(self._answers.summary(command))
            case do.StartResponse(response_id=response_id):
                self._live.add(response_id)
                if self._forked:
                    made = self._answers.response(command, self._now())
                    self._plan_later(made, lambda: response_id in self._live)
            case do.CancelResponse(response_id):
                self._live.discard(response_id)
            case do.StopPlayout(response_id):
                self._stop(response_id)
            case do.Apologise(response_id):
                self._plan_if_forked([(0.0, ev.ResponseGenerated(response_id, "stop", Usage()))])
            case do.RunTool() | do.CancelTool() | do.HoldCalls():
                self._use_tool(command)
            case notify.NotifySpeechStopped(at_s=at_s):
                self._filler_delay.on_speech_stopped(at_s)
            case notify.NotifyResponseStarted(response_id, out_of_band=False):
                self._plan_filler(response_id)
            case notify.NotifyResponseEnded(out_of_band=False):
                self._late += 1
                self._speaker.execute(command)
            case do.HangUp():
                self._agenda.clear()
            case _:
                self._speaker.execute(command)

    def _plan_filler(self, response_id: str) -> None:
        self._late += 1
        late = self._late
        after_s = self._filler_delay.pop_s(self._conversation.settings.filler_by_s, self._now().received_s)
        self._plan_if_forked([(after_s, ev.ResponseLate(response_id))], lambda: self._late == late)

    def _recognize(
        self, command: do.StartRecognition | do.FlushRecognition | do.StopRecognition, event: ev.Event
    ) -> None:
        item_id = command.item_id
        match command:
            case do.StartRecognition(at_s=at_s) if self._forked:
                made = self._answers.turn_began(item_id, at_s, self._now())
                self._plan_later(made, lambda: self._answers.is_open(item_id))
            case do.StartRecognition(at_s=at_s):
                self._answers.follow_turn(item_id, at_s)
            case do.FlushRecognition(number=number) if self._forked:
                paused_at_s = getattr(event, "at_s", self._now().received_s)
                self._plan_if_forked(self._answers.words(item_id, paused_at_s, number, self._now()))
            case do.StopRecognition():
                self._answers.turn_over(item_id)

    def _use_tool(self, command: do.RunTool | do.CancelTool | do.HoldCalls) -> None:
        if isinstance(command, do.HoldCalls):
            self._plan_if_forked([(command.seconds, ev.CallsDue(command.response_id))])
        elif isinstance(command, do.RunTool):
            call_id = command.call.call_id
            self._live.add(call_id)
            if self._forked:
                self._plan_later(self._answers.tool(command.call, self._now()), lambda: call_id in self._live)
        elif self._forked and command.call_id in self._live:
            output = CANCELLED_BY_MODEL if command.by_model else CANCELLED
            self._plan_if_forked([(0.0, ev.ToolFinished(command.call_id, "cancelled", output, reply=False))])

    def _plan_if_forked(self, later: DelayedEvents, valid: Callable[[], bool] = lambda: True) -> None:
        if self._forked:
            self._plan_later(later, valid)

    def _stop(self, response_id: str) -> None:
        played_s = self._speaker.stop(response_id, self._now_s)
        self._live.discard(response_id)
        self._plan_if_forked([(0.0, ev.PlayoutStopped(response_id, played_s))])

    def _poll_speaker(self) -> None:
        for event in self._speaker.pump(self._now_s):
            self._agenda.plan(self._now_s, event)
        next_s = self._speaker.next_s(self._now_s)
        if next_s is not None:
            self._agenda.plan(next_s, None)

    def _monitor_idleness(self) -> None:
        self._idle += 1
        idle = self._idle
        detection = self._conversation.settings.turn_detection
        timeout_s = detection.idle_timeout_s if detection else None
        if timeout_s is not None and self._conversation.idle:
            event = ev.CallerIdle(self._now().received_s + timeout_s)
            self._agenda.plan(self._now_s + timeout_s, event, lambda: self._idle == idle)
