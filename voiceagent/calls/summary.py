"""Summary of a call, from its log: turns, the caller's waits, tools."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.entries import Fact, provider_facts
from voiceagent.calls.log.event_log import LogError, lines_of, read_log
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.calls.log.tool_steps import ToolCalled, ToolEnded, ToolStarted, ToolStep, ToolSteps
from voiceagent.calls.log.unfinished import UnfinishedResponses
from voiceagent.calls.replaying.replay import CannotReplay, played_texts_in
from voiceagent.conversation.latency import wait_us


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a turn, as in `StageTime`, in microseconds."""

    name: str
    duration_us: int
    hidden_us: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A response in the summary of a call, with the turn that it answers.

    said: the caller's transcript or typed text, "" if the response answers neither. written: the response;
    heard: its played part, all of it if unknown. over_budget: stages over their budget. at_s: seconds into
    the call at its end. outcome: as in `TurnReport`; "lost" if its process was lost during playout. end_code,
    interrupted_by: as in `TurnReport`.
    """

    turn_id: str
    outcome: str
    said: str
    written: str
    heard: str
    stages: tuple[Stage, ...]
    over_budget: tuple[str, ...]
    at_s: float
    end_code: str = ""
    interrupted_by: str = ""

    @property
    def waited_us(self) -> int:
        """The caller's wait as in `TurnReport`; 0 without one."""
        return wait_us([(stage.name, stage.duration_us) for stage in self.stages]) or 0


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One function call of the model. at_s: start of its run, or time of the call for a client's tool and one
    that never ran. took_s: until its output; None without one. failed: known to have failed, which clients'
    tools do not report.
    """

    call_id: str
    name: str
    at_s: float
    took_s: float | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A call as a whole.

    reason: of its end, None if the log broke off and the reason is unknown. seconds: duration. failures:
    failed responses and recognitions. lost: its process was lost. facts: from the telephony provider, its
    call id as `line_call`; only that if texts are not kept. end_code: as in `CallEnded`.
    """

    call_id: str
    started_at: float
    seconds: float
    reason: str | None
    events: int
    failures: int
    turns: tuple[Turn, ...]
    tools: tuple[ToolUse, ...]
    lost: bool = False
    facts: tuple[Fact, ...] = ()
    end_code: str = ""


def summarise(data: bytes, name: str = "log", yield_gil: Callable[[], None] = lambda: None) -> CallSummary:
    """Summarise a log. yield_gil: called after every line. Raises LogError.

    The played text is at the end of a log; if it broke off, the conversation is replayed for it.
    """
    summary: _Summary | None = None
    for _, line in lines_of(data, name):
        if summary is None:
            summary = _Summary(line)
        else:
            summary.add(line)
        yield_gil()
    if summary is None:
        raise LogError(f"{name}: there is not one whole line in it")
    if summary.lost:
        with suppress(CannotReplay):
            summary.turns.heard = {
                heard.item_id: heard.text for heard in played_texts_in(read_log(data, name))
            }
    return summary.result()


@dataclass(slots=True)
class _Words:
    """Turn or typed text that a response answers, its item, and its text so far."""

    turn_id: str | None = None
    typed: str = ""
    item_id: str = ""
    written: str = ""


class _Turns:
    """Transcripts of a call's turns, from commands and reports. heard: the played text by item."""

    def __init__(self, texts: ReadTexts) -> None:
        self.heard: dict[str, str] = {}
        self._texts = texts
        self._said: dict[str, str] = {}
        self._typed: list[str] = []  # that no response has answered yet
        self._responses: dict[str, _Words] = {}
        self._ended: deque[str] = deque()
        self._unfinished = UnfinishedResponses(texts)
        self._turns: list[tuple[Turn, str]] = []

    def record(self, line: Json) -> None:
        self._unfinished.record(line)
        match line["event"]:
            case {"type": "ItemCreated", "item": {"type": "MessageItem", "role": "user"} as item} if not (
                item.get("by_line")
            ):
                self._typed.append(self._texts.resolved(item["text"]))
            case _:
                pass
        for command in line["commands"]:
            self._command(command)

    def _command(self, command: Json) -> None:
        match command:
            case {"type": "NotifyTranscript", "item_id": item_id, "text": text, "final": True}:
                self._said[item_id] = self._texts.resolved(text)
            case {"type": "StartResponse", "response_id": response_id, "turn_id": turn_id}:
                self._responses[response_id] = _Words(turn_id, self._typed_for(command))
            case {"type": "NotifyResponseText", "response_id": response_id, "item_id": item_id, "text": text}:
                words = self._responses.setdefault(response_id, _Words())
                words.item_id = item_id
                words.written += self._texts.resolved(text)
            case {"type": "NotifyResponseEnded", "response_id": response_id}:
                self._ended.append(response_id)
            case _:
                pass

    def _typed_for(self, start: Json) -> str:
        """Return the typed texts that a response answers: those since the last one that did."""
        if not self._texts.may_answer_typed(start):
            return ""
        typed, self._typed = " ".join(filter(None, self._typed)), []
        return typed

    def report(self, report: Json, at_s: float) -> None:
        """Add a report. It follows its response's end directly; one at the call's end names the response."""
        if report["outcome"] == "hung_up":
            response_id = report["response_id"]
            self._unfinished.reported(response_id)
        else:
            response_id = self._ended.popleft() if self._ended else ""
        stages = tuple(Stage(s["name"], s["duration_us"], s["hidden_us"]) for s in report["stages"])
        over_budget = tuple(report["over_budget"])
        codes = report.get("end_code", ""), report.get("interrupted_by", "")  # missing in old logs
        self._add(response_id, report["turn_id"], report["outcome"], stages, over_budget, at_s, codes)

    def call_ended(self, outcome: str, at_s: float) -> None:
        """Add turns for responses in playout at the end of the call that have no report."""
        for response_id, (turn_id, times) in self._unfinished.stages_by_response().items():
            stages = tuple(Stage(time.name, time.duration_us, time.hidden_us) for time in times)
            self._add(response_id, turn_id, outcome, stages, (), at_s)

    def _add(
        self,
        response_id: str,
        turn_id: str,
        outcome: str,
        stages: tuple[Stage, ...],
        over_budget: tuple[str, ...],
        at_s: float,
        codes: tuple[str, str] = ("", ""),
    ) -> None:
        words = self._responses.pop(response_id, _Words())
        said = self._said.get(turn_id, "") if words.turn_id in (turn_id, None) else ""
        said = said or words.typed
        turn = Turn(turn_id, outcome, said, words.written, "", stages, over_budget, at_s, *codes)
        self._turns.append((turn, words.item_id))

    def result(self) -> tuple[Turn, ...]:
        return tuple(
            replace(turn, heard=self.heard.get(item_id, turn.written)) for turn, item_id in self._turns
        )


class _Summary:
    """State of the summary. reason: of the end, None if unknown. lost: the log broke off."""

    def __init__(self, header: Json) -> None:
        self.reason: str | None = None
        self.end_code = ""
        self.lost = True
        self._header = header
        self._texts = ReadTexts()
        self._texts.add(header)
        self._clock_s = self._began_s = float(header.get("clock_s", 0.0))
        self._events = self._failures = 0
        self._tools: dict[str, ToolUse] = {}
        self._tool_steps = ToolSteps()
        self._facts: tuple[Fact, ...] = ()
        self.turns = _Turns(self._texts)

    def add(self, line: Json) -> None:
        self._texts.add(line)
        if "n" in line:
            self._clock_s = line["s"]
            self._events += 1
            if line["event"]["type"] in ("ResponseFailed", "RecognitionFailed"):
                self._failures += 1
            self.turns.record(line)
            for step in self._tool_steps.of(line):
                self._tool(step)
        elif line.get("type") == "TurnReport":
            self.turns.report(line, self._at_s())
        elif line.get("type") == "CallEnded":
            ended = self._texts.resolved(line)
            self.reason, self._clock_s, self.lost = ended["reason"], ended["clock_s"], False
            self.end_code = ended.get("end_code", "")  # missing in old logs
            self.turns.heard = {heard["item_id"]: heard["text"] for heard in ended["heard"]}
        elif line.get("type") == "CallIdentified":
            self._facts = provider_facts(self._texts.resolved(line), self._header.get("words", ""))
        elif line.get("type") == "CallLost":
            self.reason, self._clock_s, self.end_code = line["reason"], line["clock_s"], "process_lost"

    def _tool(self, step: ToolStep) -> None:
        match step:
            case ToolCalled(call_id, name):
                self._tools[call_id] = ToolUse(call_id, name, self._at_s(), None)
            case ToolStarted(call_id):
                self._tools[call_id] = replace(self._tools[call_id], at_s=self._at_s())
            case ToolEnded(call_id, outcome):
                called = self._tools.get(call_id)
                if called is not None and called.took_s is None:
                    took_s = round(self._at_s() - called.at_s, 3)
                    self._tools[call_id] = replace(called, took_s=took_s, failed=outcome == "failed")

    def _at_s(self) -> float:
        return round(self._clock_s - self._began_s, 3)

    def result(self) -> CallSummary:
        self.turns.call_ended("lost" if self.lost else "hung_up", self._at_s())
        return CallSummary(
            self._header.get("call_id", ""),
            self._header.get("started_at", 0.0),
            self._at_s(),
            self.reason,
            self._events,
            self._failures,
            self.turns.result(),
            tuple(self._tools.values()),
            self.lost,
            self._facts,
            self.end_code,
        )
