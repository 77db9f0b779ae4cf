"""Speech of a call as its log has it: turns and pauses of the caller, speech of the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json, decode_fields
from voiceagent.calls.log.event_log import LogError, lines_of
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.calls.log.time_axis import Moment, TimeAxis
from voiceagent.conversation.latency import wait_us
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.scores.spans import Span, joined

TICK_S = 0.2
"""Gap in the agent's speech that does not count as silence: tau-voice's tick, which would not show it."""


@dataclass(slots=True)
class LoggedTurn:
    """A turn of the caller. text: its last transcript, final or not."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class LoggedPause:
    """A silence of the caller. judged: times and probabilities of the end of the turn. decided_s: time at
    which the server ended the turn; None if it did not.
    """

    span: Span
    judged: tuple[tuple[float, float], ...]
    decided_s: float | None


@dataclass(frozen=True, slots=True)
class LoggedSpeech:
    """Speech of a call; all times are seconds of its recording.

    typed_s: times of text that a client sent as the caller's. agent: its speech, with gaps of playout up to
    `TICK_S`. backchannels: phrases that the conversation takes as such. waits_s: the caller's waits as
    `TurnReport` has them.
    """

    call_id: str
    seconds: float
    turns: Sequence[LoggedTurn]
    typed_s: Sequence[float]
    pauses: Sequence[LoggedPause]
    agent: Sequence[Span]
    backchannels: frozenset[tuple[str, ...]]
    axis: TimeAxis
    waits_s: Sequence[float] = ()


def logged_speech(data: bytes, name: str = "log") -> LoggedSpeech:
    """Read the speech from the lines of a log. Raises LogError."""
    reader: _Reader | None = None
    try:
        for _, line in lines_of(data, name):
            if reader is None:
                reader = _Reader(line)
            else:
                reader.add(line)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LogError(f"{name}: {error}") from error
    if reader is None:
        raise LogError(f"{name}: there is not one whole line in it")
    return reader.result()


@dataclass(slots=True)
class _Turn:
    began: Moment
    ended: Moment
    text: str = ""
    final: bool = False


@dataclass(slots=True)
class _Pause:
    began: Moment
    ended: Moment | None = None
    judged: list[tuple[Moment, float]] = field(default_factory=list)
    decided: Moment | None = None


class _Reader:
    """Collects the speech of one log. Positions are known only once all inserted silences are read."""

    def __init__(self, header: Json) -> None:
        self._texts = ReadTexts()
        self._texts.add(header)
        header = self._texts.resolved(header)
        self._call_id = header["call_id"]
        self._backchannels = decode_fields(header["policy"], TurnPolicy).backchannels
        self._axis = TimeAxis(header["clock_s"])
        self._turns: dict[str, _Turn] = {}
        self._typed: list[Moment] = []
        self._pauses: list[_Pause] = []
        self._agent: list[tuple[int, int]] = []
        self._end = Moment(header["clock_s"])
        self._waits_s: list[float] = []

    def add(self, line: Json) -> None:
        self._texts.add(line)
        match line:
            case {"n": _, "s": clock_s, "heard_s": heard_s, "event": event, "commands": commands}:
                self._end = Moment(clock_s)
                self._axis.record(clock_s, heard_s)
                self._event(event, clock_s)
                for command in commands:
                    self._command(command, Moment(clock_s, heard_s), event)
            case {"type": "RecordingBegan", "rate_hz": rate_hz}:
                self._axis.recorded(rate_hz)
            case {"type": "SilentSpan", "since": since, "until": until}:
                self._axis.silent(since, until)
            case {"type": "SoundSpan", "since": since, "until": until} if until > since:
                self._agent.append((since, until))
            case {"type": "TurnReport", "stages": stages}:
                wait = wait_us([(stage["name"], stage["duration_us"]) for stage in stages])
                self._waits_s += [] if wait is None else [wait / 1_000_000]
            case {"type": "CallEnded" | "CallLost", "clock_s": clock_s}:
                self._end = Moment(clock_s)

    def _event(self, event: Json, clock_s: float) -> None:
        match event:
            case {"type": "SpeechPaused", "at_s": at_s}:
                self._end_pause(Moment(clock_s, at_s))
                self._pauses.append(_Pause(Moment(clock_s, at_s)))
            case {"type": "SpeechStarted" | "SpeechResumed", "at_s": at_s}:
                self._end_pause(Moment(clock_s, at_s))
            case {"type": "ItemCreated", "item": {"type": "MessageItem", "role": "user"}}:
                self._typed.append(Moment(clock_s))
            case {"type": "TranscriptChanged", "item_id": item_id, "text": text}:
                if (turn := self._turns.get(item_id)) is not None and not turn.final:
                    turn.text = self._texts.resolved(text)

    def _command(self, command: Json, now: Moment, event: Json) -> None:
        match command:
            case {"type": "StartRecognition", "item_id": item_id, "at_s": at_s}:
                began = Moment(now.clock_s, at_s)
                self._turns[item_id] = _Turn(began, began)
            case {"type": "RequireSilence", "decision": {"probability": probability}} if self._pauses:
                if self._pauses[-1].ended is None:
                    self._pauses[-1].judged.append((now, probability))
            case {"type": "NotifyInputCommitted", "item_id": item_id}:
                if self._pauses and self._pauses[-1].ended is None and self._pauses[-1].decided is None:
                    self._pauses[-1].decided = now
                if (turn := self._turns.get(item_id)) is not None:
                    turn.ended = Moment(now.clock_s, event.get("at_s", now.at_s))
            case {"type": "StopRecognition" | "CancelRecognition", "item_id": item_id}:
                if (turn := self._turns.get(item_id)) is not None and turn.ended == turn.began:
                    turn.ended = Moment(now.clock_s, event.get("at_s", now.at_s))
            case {"type": "NotifyTranscript", "item_id": item_id, "text": text, "final": True}:
                if (turn := self._turns.get(item_id)) is not None:
                    turn.text, turn.final = self._texts.resolved(text), True

    def _end_pause(self, moment: Moment) -> None:
        if self._pauses and self._pauses[-1].ended is None:
            self._pauses[-1].ended = moment

    def result(self) -> LoggedSpeech:
        seconds = self._axis.place(self._end)
        agent = [Span(self._axis.sample(since), self._axis.sample(until)) for since, until in self._agent]
        return LoggedSpeech(
            self._call_id,
            max([seconds, *(span.end_s for span in agent)]),
            [
                LoggedTurn(self._span(turn.began, turn.ended, seconds), turn.text)
                for turn in self._turns.values()
            ],
            [self._axis.place(moment) for moment in self._typed],
            [self._pause(pause, seconds) for pause in self._pauses],
            joined(agent, TICK_S),
            self._backchannels,
            self._axis,
            self._waits_s,
        )

    def _pause(self, pause: _Pause, seconds: float) -> LoggedPause:
        return LoggedPause(
            self._span(pause.began, pause.ended, seconds),
            tuple((self._axis.place(moment), probability) for moment, probability in pause.judged),
            None if pause.decided is None else self._axis.place(pause.decided),
        )

    def _span(self, began: Moment, ended: Moment | None, seconds: float) -> Span:
        begin_s = self._axis.place(began)
        end_s = seconds if ended is None else self._axis.place(ended)
        return Span(begin_s, max(begin_s, end_s))
