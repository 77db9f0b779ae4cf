"""A call again, from an event on under other settings: what would have been. Pure.

On a virtual clock. The caller speaks as in the log and a client asks for the same; where a pause ends the
turn, what is started and when it is heard is decided anew. Engines answer as they did where they are asked
the same, and where they are not, as they did to what was asked nearest to it, which is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from llmcore.engine import Usage
from voiceagent.calls.log.codec import Inline, Json, encode
from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.agenda import Agenda
from voiceagent.calls.replaying.logged_pauses import LoggedPauses, first_silence
from voiceagent.calls.replaying.recorded_answers import Later, PooledIds, RecordedAnswers
from voiceagent.calls.replaying.replay import CannotReplay, whole_records
from voiceagent.calls.replaying.virtual_speaker import VirtualSpeaker
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

WINDOW_S = 0.032
"""Of voice activity: a silence is told to the window."""
_GIVEN = ev.ClientRequest | ev.CallStarted | ev.PreemptiveAllowed
_VOICE = (
    ev.VoiceNoticed
    | ev.VoiceFaded
    | ev.SpeechStarted
    | ev.SpeechPaused
    | ev.SpeechResumed
    | ev.InterruptionCandidate
    | ev.InterruptionConfirmed
)


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a call and the commands that came of it, as JSON values. Times as in `Record`."""

    clock_s: float
    received_s: float
    event: ev.Event
    commands: Json


@dataclass(frozen=True, slots=True)
class Forked:
    """A call as it would have been. same, other: responses that were asked for as in the call, and those
    whose recorded answer is to another request.
    """

    steps: tuple[Step, ...]
    same: int
    other: int


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from event number `since` on.

    pause_s: silence after which a pause was told, as the server had it. late_s: after how long a filler is
    said.
    """

    since: int
    settings: CallSettings
    policy: TurnPolicy
    pause_s: float
    late_s: float


def logged_steps(log: CallLog) -> tuple[Step, ...]:
    """A call as it was."""
    return tuple(Step(r.clock_s, r.received_s, r.event, r.commands) for r in log.records)


def fork(log: CallLog, change: Change) -> Forked:
    """Run a call on under other settings. Raises CannotReplay."""
    if log.header.words != "keep":
        raise CannotReplay(f"words were not kept in this log (calls.words = {log.header.words!r})")
    if not 1 <= change.since <= len(log.records):
        raise CannotReplay(f"there is no event {change.since}; allowed: 1 to {len(log.records)}")
    return _Fork(log, change).run()


class _PolicyInForce:
    """Reads as the policy that is in force now."""

    def __init__(self, policy: TurnPolicy) -> None:
        self.now = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


@dataclass(slots=True)
class _Voice:
    """The caller's turn as it is found. silent_since_s: by the clock, since when, in a pause."""

    state: str = "silent"
    paused_at_s: float = 0.0
    silent_since_s: float = 0.0
    pause: int = 0


class _Fork:
    """One run. Before the change all events are the log's; what they begin is only followed."""

    def __init__(self, log: CallLog, change: Change) -> None:
        self._log = log
        self._change = change
        self._records = list(whole_records(log))
        self._policy = _PolicyInForce(log.header.policy)
        ids = PooledIds(log)
        policy = cast("TurnPolicy", self._policy)
        self._conversation = Conversation(log.header.settings, policy, log.header.rate_hz, ids)
        self._answers = RecordedAnswers(log)
        self._speaker = VirtualSpeaker(log.header.rate_hz)
        self._voice = _Voice()
        self._agenda = Agenda()
        self._now_s = log.header.clock_s
        self._steps: list[Step] = []
        self._turn_began: dict[str, float] = {}
        self._live: set[str] = set()
        self._pauses = LoggedPauses(log)
        self._late = self._idle = 0
        self._same = self._other = 0
        self._forked = False

    def run(self) -> Forked:
        before, after = self._records[: self._change.since - 1], self._records[self._change.since - 1 :]
        for record in before:
            self._now_s = record.clock_s
            self._follow_voice(record.event)
            self._take(record.event, record.received_s)
            self._agenda.clear()
        self._apply()
        for record in after:
            self._plan_logged(record.event, record.clock_s)
        self._speaker_turns()
        end_s = self._records[-1].clock_s
        while (planned := self._agenda.next(end_s)) is not None:
            self._now_s = max(self._now_s, planned.at_s)
            if planned.event is None:
                self._speaker_turns()
            elif planned.valid():
                self._happen(planned.event)
        return Forked(tuple(self._steps), self._same, self._other)

    def _apply(self) -> None:
        self._forked = True
        self._policy.now = self._change.policy
        if self._conversation.settings != self._change.settings:
            self._conversation.settings = self._change.settings

    def _plan_logged(self, event: ev.Event, at_s: float) -> None:
        """What does not depend on the agent comes when it came; what is in the making goes on as it did."""
        response_id = getattr(event, "response_id", None)
        making = response_id in self._live and not isinstance(
            event, ev.PlayoutSent | ev.PlayoutPlayed | ev.PlayoutStopped | ev.ResponseLate
        )
        recognizing = isinstance(event, ev.TranscriptChanged) and event.item_id in self._turn_began
        if isinstance(event, _GIVEN | _VOICE) or making or recognizing:
            self._agenda.plan(at_s, event)

    def _plan_later(self, later: Later, valid: Any = lambda: True) -> None:
        for after_s, event in later:
            self._agenda.plan(self._now_s + after_s, event, valid)

    def _happen(self, event: ev.Event) -> None:
        """An event comes, unless the caller's turn has become another one meanwhile."""
        if isinstance(event, _VOICE):
            happening = self._heard(event)
            if happening is None:
                return
            event = happening
        elif isinstance(event, ev.TurnEnded):
            self._voice.state = "silent"
        self._take(event, self._received_s())

    def _heard(self, event: ev.Event) -> ev.Event | None:
        """What the voice means now: a voice that goes on may be a new turn, or the other way round."""
        voice = self._voice
        if isinstance(event, ev.SpeechStarted | ev.SpeechResumed):
            starts = voice.state == "silent"
            voice.state = "speaking"
            voice.pause += 1
            return ev.SpeechStarted(event.at_s) if starts else ev.SpeechResumed(event.at_s)
        if isinstance(event, ev.SpeechPaused):
            if voice.state != "speaking":
                return None
            self._follow_voice(event)
            detection = self._conversation.settings.turn_detection
            if detection is not None:
                self._end_turn_after(first_silence(detection))
        return event

    def _follow_voice(self, event: ev.Event) -> None:
        voice = self._voice
        if isinstance(event, ev.SpeechStarted | ev.SpeechResumed):
            voice.state = "speaking"
        elif isinstance(event, ev.SpeechPaused):
            voice.state, voice.paused_at_s = "paused", event.at_s
            voice.silent_since_s = self._now_s - self._change.pause_s
            voice.pause += 1
        elif isinstance(event, ev.TurnEnded):
            voice.state = "silent"

    def _end_turn_after(self, silence_s: float) -> None:
        """Let the pause in progress end the turn after so much silence."""
        voice = self._voice
        voice.pause += 1
        pause = voice.pause
        whole_s = max(1, round(silence_s / WINDOW_S)) * WINDOW_S
        at_s = max(self._now_s, self._pauses.at_least_s(voice.paused_at_s, silence_s))
        at_s = max(at_s, voice.silent_since_s + whole_s)
        ended = ev.TurnEnded(voice.paused_at_s)
        self._agenda.plan(at_s, ended, lambda: voice.state == "paused" and voice.pause == pause)

    def _received_s(self) -> float:
        """The media clock at this time: that of the last record before it goes on."""
        index = self._index()
        if index < 0:
            return 0.0
        record = self._records[index]
        return record.received_s + (self._now_s - record.clock_s if self._forked else 0.0)

    def _index(self) -> int:
        low, high = 0, len(self._records)
        while low < high:
            middle = (low + high) // 2
            if self._records[middle].clock_s <= self._now_s:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _take(self, event: ev.Event, received_s: float) -> None:
        commands = self._conversation.handle(event)
        written = [encode(command, Inline()) for command in commands]
        self._steps.append(Step(self._now_s, received_s, event, written))
        for command in commands:
            self._carry_out(command)
        if self._forked:
            self._monitor_idleness()
            self._speaker_turns()

    def _carry_out(self, command: do.Command) -> None:
        match command:
            case do.StartRecognition(item_id, at_s):
                self._turn_began[item_id] = at_s
                self._ask(self._answers.partial(item_id, at_s, self._now_s))
            case do.FlushRecognition(item_id):
                began_at_s = self._turn_began.get(item_id, 0.0)
                self._ask(self._answers.words(item_id, began_at_s, self._now_s))
            case do.StopRecognition(item_id):
                self._turn_began.pop(item_id, None)
            case do.RequireSilence(decision=decision) if self._forked and self._voice.state == "paused":
                self._end_turn_after(decision.silence_s)
            case do.JudgeTurn(item_id):
                self._ask(self._answers.judgement(item_id, self._now_s))
            case do.Summarise():
                self._ask(self._answers.summary())
            case do.StartResponse(response_id=response_id):
                self._start(command, response_id)
            case do.CancelResponse(response_id):
                self._live.discard(response_id)
            case do.StopPlayout(response_id):
                self._stop(response_id)
            case do.Apologise(response_id):
                self._ask([(0.0, ev.ResponseGenerated(response_id, "stop", Usage()))])
            case notify.NotifyResponseStarted(response_id):
                self._late += 1
                late = self._late
                self._ask([(self._change.late_s, ev.ResponseLate(response_id))], lambda: self._late == late)
            case notify.NotifyResponseEnded():
                self._late += 1
            case do.HangUp():
                self._agenda.clear()
            case _:
                self._speaker.take(command)

    def _ask(self, later: Later, valid: Any = lambda: True) -> None:
        if self._forked:
            self._plan_later(later, valid)

    def _start(self, start: do.StartResponse, response_id: str) -> None:
        self._live.add(response_id)
        if not self._forked:
            return
        later, same = self._answers.response(start, self._now_s)
        self._same += same
        self._other += not same
        self._plan_later(later, lambda: response_id in self._live)

    def _stop(self, response_id: str) -> None:
        played_s = self._speaker.stop(response_id, self._now_s)
        self._live.discard(response_id)
        self._ask([(0.0, ev.PlayoutStopped(response_id, played_s))])

    def _speaker_turns(self) -> None:
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
            event = ev.CallerIdle(self._received_s() + timeout_s)
            self._agenda.plan(self._now_s + timeout_s, event, lambda: self._idle == idle)
