"""Answers of engines in a logged call, by request."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from llmcore.engine import ToolCall, Usage
from voiceagent.calls.log.codec import Inline, Json, dumps, encode
from voiceagent.calls.log.event_log import CallLog, LoggedRecord
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev

_ASKED = ("messages", "tools", "tool_choice", "max_tokens", "temperature", "stop")
"""Fields that identify a request; deadline and priority do not matter."""
SAME_S = 0.05
"""Tolerance within which positions in the caller's audio are equal."""
EARLY_S = 0.25
"""Tolerance, in the log's time, within which an earlier request counts as the same."""

Made = (
    ev.FragmentReady
    | ev.SpeechReady
    | ev.FragmentSpoken
    | ev.ToolCallsReady
    | ev.ResponseWritten
    | ev.ResponseGenerated
    | ev.ResponseFailed
)
Action = (
    ev.AgentChanged
    | ev.SpeechRequested
    | ev.ReplyRequested
    | ev.TurnsClaimed
    | ev.HangUpRequested
    | ev.DictationBegan
    | ev.SpellingExpected
    | ev.LanguageSet
)
"""Actions of the agent's code, such as a hand-over."""
DelayedEvents = list[tuple[float, ev.Event]]
"""Events, each with the seconds until it happens."""


@dataclass(slots=True)
class Answer:
    """Events of a response. at_s: time of the request."""

    key: str
    at_s: float
    made: list[tuple[float, Made]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """True if it was completed; cancelled ones were not."""
        return any(isinstance(event, ev.ResponseGenerated | ev.ResponseFailed) for _, event in self.made)


@dataclass(frozen=True, slots=True)
class Settled:
    """One settled hypothesis: requested at clock time `asked_s` after a pause at position `paused_at_s`,
    received after `took_s`.
    """

    asked_s: float
    paused_at_s: float
    took_s: float
    text: str
    confidence: float | None
    complete: float | None


@dataclass(slots=True)
class Recognized:
    """Hypotheses of one turn, which began at position `began_at_s`."""

    began_at_s: float
    settled: list[Settled] = field(default_factory=list)
    partial: list[tuple[float, ev.TranscriptChanged | ev.RecognitionFailed]] = field(default_factory=list)


@dataclass(slots=True)
class _ToolRun:
    """A tool run. asked: name and arguments. at_s: its start. made: its events, and the agent's actions until
    it finished, which a log does not tell from those of the tool.
    """

    asked: tuple[str, str]
    at_s: float
    made: list[tuple[float, ev.ToolEvent | Action]] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """True if it has a result."""
        return any(isinstance(event, ev.ToolFinished) for _, event in self.made)


class RecordedAnswers:
    """Answers of engines and tools in a log, each with its delay, for calls with the same questions."""

    def __init__(self, log: CallLog) -> None:
        self._responses: dict[str, Answer] = {}
        self._turns: dict[str, Recognized] = {}
        self._asked: dict[str, list[tuple[float, float]]] = {}
        self._judged: list[tuple[float, float, float]] = []  # asked, answered, probability
        self._judging_s = 0.0
        self._ends: dict[str, list[tuple[float, ev.TurnEndScored]]] = {}  # by transcript of the turn
        self._asking_s = 0.0
        self._resumed: set[float] = set()
        self._tools: dict[str, _ToolRun] = {}
        self._tool_records: dict[int, str] = {}
        self._summarising: tuple[str, float] = ("", 0.0)
        self._summaries: list[tuple[str, float, ev.HistorySummarised]] = []
        self._reviewing: dict[str, tuple[str, float]] = {}  # by response: its text, time of the request
        self._reviews: dict[str, tuple[float, ev.ResponseReviewed]] = {}  # by text of the response
        for record in log.records:
            self._event(record)
            for command in record.commands:
                self._command(command, record)

    def response(self, start: do.StartResponse, now_s: float) -> DelayedEvents | None:
        """Return the events of the same response request in the call, if it was completed."""
        key = _key(encode(start, Inline()))
        same = [answer for answer in self._responses.values() if answer.key == key and answer.complete]
        found = _nearest(same, now_s)
        return None if found is None else _made_for(start.response_id, found)

    def nearest_response(self, start: do.StartResponse, now_s: float) -> DelayedEvents:
        """Return the events of the request nearest in time."""
        found = _nearest(self._responses.values(), now_s) or Answer("", now_s)
        later = _made_for(start.response_id, found)
        if not found.complete:
            after_s = found.made[-1][0] if found.made else 0.0
            later.append((after_s, ev.ResponseGenerated(start.response_id, "stop", Usage())))
        return later

    def has_turn(self, began_at_s: float) -> bool:
        """Return True if a turn began at this position."""
        return any(abs(turn.began_at_s - began_at_s) < SAME_S for turn in self._turns.values())

    def resumed_at(self, at_s: float) -> bool:
        """Return True if speech resumed after a pause within a turn at this position."""
        return at_s in self._resumed

    def has_words(self, began_at_s: float, paused_at_s: float) -> bool:
        """Return True if a turn that began there has a settled hypothesis for this pause."""
        return any(
            abs(turn.began_at_s - began_at_s) < SAME_S and abs(one.paused_at_s - paused_at_s) < SAME_S
            for turn in self._turns.values()
            for one in turn.settled
        )

    def words(self, item_id: str, began_at_s: float, now_s: float) -> DelayedEvents:
        """Return the settled hypothesis of a turn that began there, requested now."""
        texts: list[str] = []
        newest: Settled | None = None
        for turn in self._turns.values():
            known = [one for one in turn.settled if one.asked_s <= now_s + EARLY_S]
            if not known or known[-1].paused_at_s <= began_at_s:
                continue
            before = [one for one in known if one.paused_at_s <= began_at_s]
            head = len(before[-1].text.split()) if before else 0
            texts += known[-1].text.split()[head:]
            newest = known[-1]
        text = " ".join(texts)
        heard = ev.TranscriptChanged(item_id, text, text, settled=True)
        if newest is None:
            return [(0.0, heard)]
        return [(newest.took_s, replace(heard, confidence=newest.confidence, complete=newest.complete))]

    def partial(self, item_id: str, began_at_s: float, now_s: float) -> DelayedEvents:
        """Return the interim hypotheses of a turn, if one began there in the call too."""
        return [
            (at_s - now_s, replace(event, item_id=item_id))
            for turn in self._turns.values()
            if abs(turn.began_at_s - began_at_s) < EARLY_S
            for at_s, event in turn.partial
            if at_s >= now_s
        ]

    def judgement(self, item_id: str, now_s: float) -> DelayedEvents:
        """Return the turn model's judgement requested at about this time."""
        near = [one for one in self._judged if abs(one[0] - now_s) < EARLY_S]
        return [(answered - asked, ev.TurnJudged(item_id, p)) for asked, answered, p in near[:1]]

    def turn_end(self, asked: do.AskTurnEnd) -> DelayedEvents:
        """Return the LLM's score of the same transcript."""
        return [
            (took_s, replace(event, item_id=asked.item_id))
            for took_s, event in self._ends.get(asked.words, ())
        ]

    def summary(self, wanted: do.Summarise) -> DelayedEvents | None:
        """Return the summary of the same turns."""
        key = _key_of_summary(encode(wanted, Inline()))
        made: list[DelayedEvents] = [
            [(after_s, event)] for known, after_s, event in self._summaries if known == key
        ]
        return made[0] if made else None

    def next_summary(self) -> DelayedEvents:
        """Return the next summary that was made."""
        return [self._summaries.pop(0)[1:]] if self._summaries else []

    def review(self, wanted: do.ReviewResponse) -> DelayedEvents:
        """Return the review of the same text, if it was completed."""
        if (made := self._reviews.get(wanted.said)) is None:
            return []
        after_s, event = made
        return [(after_s, replace(event, response_id=wanted.response_id))]

    def tool_of(self, record: LoggedRecord) -> str:
        """Return the call_id of the tool run that a record belongs to, "" for none."""
        return self._tool_records.get(record.number, "")

    def tool(self, call: ToolCall, now_s: float) -> DelayedEvents:
        """Return the result of the tool called with the same arguments, and what the agent's code did
        meanwhile; no tool is run.
        """
        asked = (call.name, call.arguments)
        same = [run for run in self._tools.values() if run.asked == asked and run.made]
        if not same:
            refusal = "not done: in the call it was not called so, and no tool is run in a replay"
            return [(0.0, ev.ToolFinished(call.call_id, "failed", refusal))]
        nearest = min(same, key=lambda run: abs(run.at_s - now_s))
        return [
            (after_s, replace(event, call_id=call.call_id) if isinstance(event, ev.ToolEvent) else event)
            for after_s, event in nearest.made
        ]

    def _event(self, record: LoggedRecord) -> None:
        event = record.event
        if isinstance(event, Made) and (answer := self._responses.get(event.response_id)) is not None:
            answer.made.append((record.clock_s - answer.at_s, event))
        elif isinstance(event, ev.TranscriptChanged) and (turn := self._turns.get(event.item_id)) is not None:
            asked = self._asked.get(event.item_id)
            if not event.settled:
                turn.partial.append((record.clock_s, event))
            elif asked:
                asked_s, paused_at_s = asked.pop(0)
                took_s = record.clock_s - asked_s
                heard = event.text, event.confidence, event.complete
                turn.settled.append(Settled(asked_s, paused_at_s, took_s, *heard))
        elif isinstance(event, ev.RecognitionFailed) and (turn := self._turns.get(event.item_id)) is not None:
            turn.partial.append((record.clock_s, event))
        elif isinstance(event, ev.TurnJudged):
            self._judged.append((self._judging_s, record.clock_s, event.probability))
        elif isinstance(event, ev.TurnEndScored):
            self._ends[event.words] = [(record.clock_s - self._asking_s, event)]
        elif isinstance(event, ev.HistorySummarised):
            key, asked_s = self._summarising
            self._summaries.append((key, record.clock_s - asked_s, event))
        elif isinstance(event, ev.ResponseReviewed) and event.response_id in self._reviewing:
            said, asked_s = self._reviewing[event.response_id]
            self._reviews[said] = record.clock_s - asked_s, event
        elif isinstance(event, ev.SpeechResumed):
            self._resumed.add(event.at_s)
        elif isinstance(event, ev.ToolEvent | Action):
            self._tool_event(record, event)

    def _tool_event(self, record: LoggedRecord, event: ev.ToolEvent | Action) -> None:
        """Add an event to its tool's run; an action to the run that began last and has not finished."""
        if isinstance(event, ev.ToolEvent):
            call_id = event.call_id
        else:
            runs = reversed(self._tools.items())
            call_id = next((call_id for call_id, run in runs if not run.finished), "")
        if (run := self._tools.get(call_id)) is not None:
            run.made.append((record.clock_s - run.at_s, event))
            self._tool_records[record.number] = call_id

    def _command(self, command: Json, record: LoggedRecord) -> None:
        match command["type"]:
            case "StartResponse":
                self._responses[command["response_id"]] = Answer(_key(command), record.clock_s)
            case "StartRecognition":
                self._turns[command["item_id"]] = Recognized(command["at_s"])
            case "FlushRecognition":
                paused_at_s = getattr(record.event, "at_s", record.received_s)
                self._asked.setdefault(command["item_id"], []).append((record.clock_s, paused_at_s))
            case "JudgeTurn":
                self._judging_s = record.clock_s
            case "AskTurnEnd":
                self._asking_s = record.clock_s
            case "Summarise":
                self._summarising = _key_of_summary(command), record.clock_s
            case "ReviewResponse":
                self._reviewing[command["response_id"]] = command["said"], record.clock_s
            case "RunTool":
                call = command["call"]
                run = _ToolRun((call["name"], call["arguments"]), record.clock_s)
                self._tools[call["call_id"]] = run
            case _:
                pass


def _key(start: Json) -> str:
    request: dict[str, Any] = start["request"]
    asked = {name: request[name] for name in _ASKED if name in request}
    return dumps([start["say"], start["modality"], asked])


def _key_of_summary(wanted: Json) -> str:
    return dumps([wanted["said"], wanted["earlier"]])


def _made_for(response_id: str, answer: Answer) -> DelayedEvents:
    return [(after_s, replace(made, response_id=response_id)) for after_s, made in answer.made]


def _nearest(answers: Iterable[Answer], now_s: float) -> Answer | None:
    """Return the nearest in time, preferring completed ones."""
    return min(answers, key=lambda answer: (not answer.complete, abs(answer.at_s - now_s)), default=None)


class PooledIds:
    """Ids of the call in their order, by prefix; new ones when they are used up."""

    def __init__(self, log: CallLog) -> None:
        self._pools: defaultdict[str, deque[str]] = defaultdict(deque)
        self._more = count(1)
        for made in (made for record in log.records for made in record.ids):
            self._pools[made.partition("_")[0]].append(made)

    def __call__(self, prefix: str) -> str:
        """Return the next id with this prefix."""
        pool = self._pools[prefix]
        return pool.popleft() if pool else f"{prefix}_forked{next(self._more)}"
