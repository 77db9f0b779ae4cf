"""What a call came to, from the lines of its log: its turns, how long the caller waited, its tools. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.event_log import LogError, ReadTexts, lines_of, read_log
from voiceagent.calls.replaying.replay import CannotReplay, heard_in


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a turn, as in `StageTime`, in microseconds."""

    name: str
    duration_us: int
    hidden_us: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One response and the turn that it answers.

    said: the caller's words, "" where the response answers none. written: the response; heard: what the
    caller heard of it. over_budget: what took longer than it may. at_s: seconds into the call when it was
    over.
    """

    turn_id: str
    outcome: str
    said: str
    written: str
    heard: str
    stages: tuple[Stage, ...]
    over_budget: tuple[str, ...]
    at_s: float

    @property
    def waited_us(self) -> int:
        """How long the caller waited."""
        return sum(stage.duration_us for stage in self.stages)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One function that the model called. took_s: until its output came; None where none did."""

    call_id: str
    name: str
    at_s: float
    took_s: float | None


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A call as a whole.

    reason: why it ended, None where the log broke off. seconds: its length. failures: responses and
    recognitions that broke.
    """

    call_id: str
    started_at: float
    seconds: float
    reason: str | None
    events: int
    failures: int
    turns: tuple[Turn, ...]
    tools: tuple[ToolUse, ...]


def summarise(data: bytes, name: str = "log", breathe: Callable[[], None] = lambda: None) -> CallSummary:
    """Read a log for what it came to. breathe: called after every line. Raises LogError.

    What was heard only the end of a log tells: of one that broke off, the conversation is run again for it.
    """
    summary: _Summary | None = None
    for _, line in lines_of(data, name):
        if summary is None:
            summary = _Summary(line)
        else:
            summary.take(line)
        breathe()
    if summary is None:
        raise LogError(f"{name}: there is not one whole line in it")
    if summary.reason is None:
        with suppress(CannotReplay):
            summary.heard = {heard.item_id: heard.text for heard in heard_in(read_log(data, name))}
    return summary.result()


@dataclass(slots=True)
class _Words:
    """What is known of one response."""

    turn_id: str | None = None
    item_id: str = ""
    written: str = ""


@dataclass(slots=True)
class _Summary:
    header: Json
    texts: ReadTexts = field(default_factory=ReadTexts)
    clock_s: float = 0.0
    reason: str | None = None
    events: int = 0
    failures: int = 0
    said: dict[str, str] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    responses: dict[str, _Words] = field(default_factory=dict)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    turns: list[tuple[Turn, str]] = field(default_factory=list)
    ended: deque[str] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.texts.take(self.header)
        self.clock_s = self.header.get("clock_s", 0.0)

    def take(self, line: Json) -> None:
        self.texts.take(line)
        if "n" in line:
            self.clock_s = line["s"]
            self.events += 1
            self._event(line["event"])
            for command in line["commands"]:
                self._command(command)
        elif line.get("type") == "TurnReport":
            self._report(line)
        elif line.get("type") == "CallEnded":
            ended = self.texts.resolved(line)
            self.reason, self.clock_s = ended["reason"], ended["clock_s"]
            self.heard = {heard["item_id"]: heard["text"] for heard in ended["heard"]}

    def _event(self, event: Json) -> None:
        match event:
            case {"type": "ResponseFailed" | "RecognitionFailed"}:
                self.failures += 1
            case {"type": "ToolCallsReady", "calls": calls}:
                for call in calls:
                    use = ToolUse(call["call_id"], call["name"], self._at_s(), None)
                    self.tools[call["call_id"]] = use
            case {"type": "ItemCreated", "item": {"type": "ToolOutputItem", "call_id": call_id}} | {
                "type": "ToolFinished",
                "call_id": call_id,
            }:
                if (called := self.tools.get(call_id)) is not None:
                    self.tools[call_id] = replace(called, took_s=round(self._at_s() - called.at_s, 3))
            case _:
                pass

    def _command(self, command: Json) -> None:
        match command:
            case {"type": "NotifyTranscript", "item_id": item_id, "text": text, "final": True}:
                self.said[item_id] = self.texts.resolved(text)
            case {"type": "StartResponse", "response_id": response_id, "turn_id": turn_id}:
                self.responses[response_id] = _Words(turn_id)
            case {"type": "NotifyResponseText", "response_id": response_id, "item_id": item_id, "text": text}:
                words = self.responses.setdefault(response_id, _Words())
                words.item_id = item_id
                words.written += self.texts.resolved(text)
            case {"type": "NotifyResponseEnded", "response_id": response_id}:
                self.ended.append(response_id)
            case _:
                pass

    def _report(self, report: Json) -> None:
        """It comes right behind the end of the response that it is about."""
        words = self.responses.pop(self.ended.popleft() if self.ended else "", _Words())
        turn_id = report["turn_id"]
        turn = Turn(
            turn_id,
            report["outcome"],
            self.said.get(turn_id, "") if words.turn_id == turn_id else "",
            words.written,
            "",
            tuple(Stage(s["name"], s["duration_us"], s["hidden_us"]) for s in report["stages"]),
            tuple(report["over_budget"]),
            self._at_s(),
        )
        self.turns.append((turn, words.item_id))

    def _at_s(self) -> float:
        began_s: float = self.header.get("clock_s", 0.0)
        return round(self.clock_s - began_s, 3)

    def result(self) -> CallSummary:
        return CallSummary(
            self.header.get("call_id", ""),
            self.header.get("started_at", 0.0),
            self._at_s(),
            self.reason,
            self.events,
            self.failures,
            tuple(replace(turn, heard=self.heard.get(item_id, "")) for turn, item_id in self.turns),
            tuple(self.tools.values()),
        )
