"""Answers of engines in a forked call: from the log if the request is the same, else from live engines."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from llmcore.engine import ToolCall
from voiceagent.calls.log.event_log import CallLog, LoggedRecord
from voiceagent.calls.replaying.recorded_answers import DelayedEvents, RecordedAnswers
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev


class ClockReading(NamedTuple):
    """Current time. clock_s: monotonic seconds. received_s: seconds of the caller's audio."""

    clock_s: float
    received_s: float


class LiveEngines(Protocol):
    """Live engines, which work while the virtual clock is stopped. Their answers are planned after the time
    they took.

    A turn is one run of the recognizer: `begin_turn`, then `hear` and `settle` in order of its audio, then
    `end_turn`. hears: the caller's audio is available; without it only responses and summaries are made.
    """

    @property
    def hears(self) -> bool:
        """True if the caller's audio is available."""

    def response(self, start: do.StartResponse) -> DelayedEvents:
        """Return the events of a whole response."""

    def summary(self, wanted: do.Summarise) -> DelayedEvents:
        """Return the summary of old turns."""

    def review(self, wanted: do.ReviewResponse) -> DelayedEvents:
        """Return the back LLM's review of an answer."""

    def turn_end(self, asked: do.AskTurnEnd) -> DelayedEvents:
        """Return the LLM's end-of-turn score; nothing if its engine does not support that."""

    def begin_turn(self, item_id: str, at_s: float) -> None:
        """Start recognizing the turn that began at this position."""

    def hear(self, item_id: str, received_s: float, until_s: float) -> DelayedEvents:
        """Return the turn's hypotheses from `received_s` to `until_s`, both of the media clock."""

    def settle(self, item_id: str, received_s: float, number: bool) -> DelayedEvents:
        """Return the settled hypothesis of the audio received by then. number: a number is expected."""

    def end_turn(self, item_id: str) -> None:
        """Stop recognizing the turn."""

    def judge(self, item_id: str, received_s: float) -> DelayedEvents:
        """Return the turn model's judgement; nothing without one."""


@dataclass(slots=True)
class Counts:
    """Statistics of answers. same, live, nearest: responses taken from the same request in the log, from
    engines, and from the nearest request. heard: settled transcripts of audio that was segmented differently
    than in the call.
    """

    same: int = 0
    live: int = 0
    nearest: int = 0
    heard: int = 0


class Answers:
    """Answers for one call. live: None to use only the log. live_stages: stages with a
    different engine, whose logged answers are not used.
    """

    def __init__(self, log: CallLog, live: LiveEngines | None, live_stages: AbstractSet[ev.Stage]) -> None:
        self._recorded = RecordedAnswers(log)
        self._live = live
        self._live_stages = live_stages
        self._hearing_engines = live if live is not None and live.hears else None
        pauses = (record for record in log.records if isinstance(record.event, ev.SpeechPaused))
        self._pauses = [ClockReading(record.clock_s, record.received_s) for record in pauses]
        self._turns: dict[str, float] = {}
        self._heard: set[str] = set()
        self.counts = Counts()

    def response(self, start: do.StartResponse, now: ClockReading) -> DelayedEvents:
        if not self._live_stages & {"llm", "synthesizer"}:
            made = self._recorded.response(start, now.clock_s)
            if made is not None:
                self.counts.same += 1
                return made
        if self._live is not None:
            self.counts.live += 1
            return self._live.response(start)
        self.counts.nearest += 1
        return self._recorded.nearest_response(start, now.clock_s)

    def summary(self, wanted: do.Summarise) -> DelayedEvents:
        """Return the summary of old turns."""
        made = None if "llm" in self._live_stages else self._recorded.summary(wanted)
        if made is None and self._live is not None:
            return self._live.summary(wanted)
        return self._recorded.next_summary() if made is None else made

    def review(self, wanted: do.ReviewResponse) -> DelayedEvents:
        """Return the back LLM's review of an answer. Without engines, an answer that is new stands."""
        made = [] if "llm" in self._live_stages else self._recorded.review(wanted)
        if made:
            return made
        failed = ev.ResponseReviewed(wanted.response_id, None)
        return [(0.0, failed)] if self._live is None else self._live.review(wanted)

    def follow_turn(self, item_id: str, at_s: float) -> None:
        """Note the start of a turn before the fork."""
        self._turns[item_id] = at_s

    def turn_began(self, item_id: str, at_s: float, now: ClockReading) -> DelayedEvents:
        """Return the hypotheses of a turn while it is spoken."""
        self._turns[item_id] = at_s
        if self._hearing_engines is not None and (
            "recognizer" in self._live_stages or not self._recorded.has_turn(at_s)
        ):
            return self._hear(self._hearing_engines, item_id, now)
        return self._recorded.partial(item_id, at_s, now.clock_s)

    def turn_resumed(self, at_s: float, now: ClockReading) -> DelayedEvents:
        """Return the hypotheses after a resumed voice, which in the call may have been a turn of its own."""
        item_id = next(reversed(self._turns), None)
        if item_id is None or self._hearing_engines is None:
            return []
        if item_id not in self._heard and self._recorded.resumed_at(at_s):
            return []
        return self._hear(self._hearing_engines, item_id, now)

    def words(self, item_id: str, paused_at_s: float, number: bool, now: ClockReading) -> DelayedEvents:
        """Return the settled transcript of a turn that paused at this position. number: one is expected."""
        began_at_s = self._turns.get(item_id, 0.0)
        known = item_id not in self._heard and self._recorded.has_words(began_at_s, paused_at_s)
        if self._hearing_engines is None or known:
            return self._recorded.words(item_id, began_at_s, now.clock_s)
        self._begin(self._hearing_engines, item_id)
        self.counts.heard += 1
        return self._hearing_engines.settle(item_id, now.received_s, number)

    def turn_over(self, item_id: str) -> None:
        """Stop recognizing a turn."""
        self._turns.pop(item_id, None)
        if item_id in self._heard and self._hearing_engines is not None:
            self._heard.discard(item_id)
            self._hearing_engines.end_turn(item_id)

    def is_open(self, item_id: str) -> bool:
        """Return True if a turn is being recognized."""
        return item_id in self._turns

    def recognizes(self, item_id: str) -> bool:
        """Return True if the log's hypotheses of a turn are still valid."""
        return item_id in self._turns and item_id not in self._heard

    def judgement(self, item_id: str, now: ClockReading) -> DelayedEvents:
        """Return the turn model's judgement."""
        made = self._recorded.judgement(item_id, now.clock_s)
        return (
            self._hearing_engines.judge(item_id, now.received_s)
            if not made and self._hearing_engines is not None
            else made
        )

    def turn_end(self, asked: do.AskTurnEnd) -> DelayedEvents:
        """Return the LLM's end-of-turn score."""
        made = [] if "llm" in self._live_stages else self._recorded.turn_end(asked)
        return self._live.turn_end(asked) if not made and self._live is not None else made

    def tool_of(self, record: LoggedRecord) -> str:
        """Return the call_id of the tool run that a record belongs to, "" for none."""
        return self._recorded.tool_of(record)

    def tool(self, call: ToolCall, now: ClockReading) -> DelayedEvents:
        """Return the logged result of a tool, and what the agent's code did meanwhile; no tool is run."""
        return self._recorded.tool(call, now.clock_s)

    def _begin(self, engines: LiveEngines, item_id: str) -> None:
        if item_id not in self._heard:
            self._heard.add(item_id)
            engines.begin_turn(item_id, self._turns.get(item_id, 0.0))

    def _hear(self, engines: LiveEngines, item_id: str, now: ClockReading) -> DelayedEvents:
        """Recognize until the caller's next pause."""
        self._begin(engines, item_id)
        until_s = next((pause.received_s for pause in self._pauses if pause.clock_s > now.clock_s), None)
        return [] if until_s is None else engines.hear(item_id, now.received_s, until_s)
