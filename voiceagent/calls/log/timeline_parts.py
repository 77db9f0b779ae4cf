"""Turns, responses and tools of a timeline, from the events and commands of a log."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json, decode
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.calls.log.time_axis import Moment, TimeAxis
from voiceagent.calls.log.timeline_entries import AgentResponse, CallerTurn, ToolRun
from voiceagent.calls.log.tool_steps import ToolCalled, ToolEnded, ToolStarted, ToolStep
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.latency import TurnReport, as_json

_DECISION = {"RequireSilence": EndOfTurn}


class TimelineParts:
    """Turns, responses and tools of one call's timeline. texts: of the log. axis: places in the recording."""

    def __init__(self, texts: ReadTexts, axis: TimeAxis) -> None:
        self._texts = texts
        self._axis = axis
        self._turns: dict[str, CallerTurn] = {}
        self._responses: dict[str, AgentResponse] = {}
        self._tools: dict[str, ToolRun] = {}
        self._heard: dict[str, str] = {}
        self._open = _Open()
        self._changed: set[tuple[str, str]] = set()

    def changes(self) -> dict[str, Json]:
        """Return each turn, response and tool that changed since the last call."""
        changed, self._changed = self._changed, set()
        return {
            "turns": [t.as_json(self._axis) for key, t in self._turns.items() if ("turns", key) in changed],
            "responses": [
                r.as_json(key, self._heard_of(r), self._axis)
                for key, r in self._responses.items()
                if ("responses", key) in changed
            ],
            "tools": [t.as_json(self._axis) for key, t in self._tools.items() if ("tools", key) in changed],
        }

    def event(self, event: Json, moment: Moment) -> None:
        """Process an event, if it concerns a turn or a response."""
        match event:
            case {"type": "SpeechStarted"}:
                self._open.spoken = moment
            case {"type": "TurnEnded"}:
                self._open.ended, self._open.ended_by = moment, "silence"
            case {"type": "InputCommitted"}:
                self._open.ended, self._open.ended_by = moment, "client"
            case {"type": "PlayoutMeasured", "turn_id": turn_id}:
                if (turn := self._turns.get(turn_id)) is not None:
                    turn.playout = {key: value for key, value in event.items() if key.endswith("_ms")}
                    self._touch("turns", turn_id)
            case {"type": "CallerGone"}:
                self._open.gone = True
            case {"type": "ResponseFailed", "response_id": response_id, "stage": stage}:
                if (response := self._responses.get(response_id)) is not None:
                    response.failure = f"{stage}: {self._text(event['reason'])}"
            case {"type": "ResponseGenerated", "response_id": response_id, "usage": usage}:
                if (response := self._responses.get(response_id)) is not None:
                    response.usage = usage
                    self._touch("responses", response_id)
            case {"type": "TranscriptChanged", "item_id": turn_id, "settled": True}:
                turn = self._turns.get(turn_id)
                if turn is not None and turn.decided is None:
                    turn.settled = moment
            case {"type": "ItemCreated", "item": {"type": "MessageItem", "role": "user"} as item} if not (
                item.get("by_line")
            ):
                item_id, text = item["item_id"], self._text(item["text"])
                self._turns[item_id] = CallerTurn(item_id, moment, moment, moment, "typed", text)
                self._open.typed = item_id
                self._touch("turns", item_id)

    def tool(self, step: ToolStep, moment: Moment) -> None:
        """Process a step of a tool call."""
        match step:
            case ToolCalled(call_id, name, arguments, response_id):
                self._tools[call_id] = ToolRun(call_id, name, self._text(arguments), response_id, moment)
                self._touch("tools", call_id)
            case ToolStarted(call_id):
                self._tools[call_id].began = moment
                self._touch("tools", call_id)
            case ToolEnded(call_id, outcome, output):
                tool = self._tools.get(call_id)
                if tool is not None and tool.ended is None:
                    tool.ended, tool.outcome, tool.output = moment, outcome, self._text(output)
                    self._touch("tools", call_id)

    def command(self, command: Json, moment: Moment) -> None:
        """Process a command, if it concerns a turn or a response."""
        match command:
            case {"type": "StartRecognition", "item_id": turn_id, "at_s": at_s}:
                self._turns[turn_id] = CallerTurn(turn_id, Moment(moment.clock_s, at_s))
            case {"type": "NotifySpeechStarted", "item_id": turn_id}:
                # upstream calls: this is the first event of a turn, and its positions are not those of the
                # recording
                self._turns.setdefault(turn_id, CallerTurn(turn_id, moment))
            case {"type": "RequireSilence", "item_id": turn_id}:
                if (turn := self._turns.get(turn_id)) is not None:
                    turn.decision = self._decision(command)
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                turn = self._turns.setdefault(turn_id, CallerTurn(turn_id, moment))
                turn.ended, turn.ended_by = self._open.ended or moment, self._open.ended_by or "upstream"
                turn.decided, turn.end_code = moment, command.get("end_code", "")
                self._touch("turns", turn_id)
            case {"type": "NotifyTranscript", "item_id": turn_id, "text": text, "final": final}:
                if (turn := self._turns.get(turn_id)) is not None:
                    turn.said = self._text(text) if final else turn.said + self._text(text)
                    self._touch("turns", turn_id)
            case _:
                self._response(command, moment)

    def _response(self, command: Json, moment: Moment) -> None:
        match command:
            case {
                "type": "StartResponse",
                "response_id": response_id,
                "turn_id": turn_id,
                "preemptive": ahead,
            }:
                if self._open.typed is not None and self._texts.may_answer_typed(command):
                    turn_id, self._open.typed = self._open.typed, None
                self._responses[response_id] = AgentResponse(turn_id, moment, ahead)
            case {"type": "NotifyResponseStarted", "response_id": response_id}:
                self._responses.setdefault(response_id, AgentResponse(None, moment))
                self._touch("responses", response_id)
            case {"type": "NotifyResponseText", "response_id": response_id, "item_id": item_id, "text": text}:
                answer = self._responses.setdefault(response_id, AgentResponse(None, moment))
                answer.item_id = item_id
                answer.written += self._text(text)
                self._touch("responses", response_id)
            case {"type": "CancelResponse", "response_id": response_id}:
                if ("responses", response_id) not in self._open.returned:
                    self._responses.pop(response_id, None)  # preemptive, never notified
            case {"type": "StopPlayout", "response_id": response_id, "interrupted_by": cause}:
                if (stopped := self._responses.get(response_id)) is not None:
                    stopped.interrupted_by = cause
                    self._touch("responses", response_id)
            case {"type": "NotifyResponseEnded", "response_id": response_id} as over:
                if (ended := self._responses.get(response_id)) is not None:
                    ended.interrupted_by = over.get("interrupted_by", ended.interrupted_by)
                    ended.status = "false_end" if over["false_end"] else over["status"]
                    self._open.reported.append(response_id)
                    self._touch("responses", response_id)

    def report(self, line: Json) -> None:
        """Add a report. It follows its response's end directly; one at the call's end names the response."""
        if line["outcome"] == "hung_up":
            response_id = line["response_id"]
        else:
            response_id = self._open.reported.popleft() if self._open.reported else ""
        if (response := self._responses.get(response_id)) is not None:
            report = as_json(decode(line, {"TurnReport": TurnReport}))
            del report["turn_id"], report["end_of_turn"]  # part of the turn
            response.report = report
            self._touch("responses", response_id)

    def sound(self, response_id: str, since: int, until: int) -> None:
        """Add a span of a response's audio in the recording, in samples."""
        if (response := self._responses.get(response_id)) is not None:
            response.spans.append((since, until))
            self._touch("responses", response_id)

    def set_played_text(self, item_id: str, text: str) -> None:
        """Set the played text of an agent's message."""
        if self._heard.get(item_id) == text:
            return
        self._heard[item_id] = text
        for response_id, response in self._responses.items():
            if response.item_id == item_id:
                self._touch("responses", response_id)

    def hung_up(self) -> None:
        """Mark open responses as ended by the end of the call."""
        for response_id, response in self._responses.items():
            if not response.status:
                response.status = "hung_up"
                self._touch("responses", response_id)

    def silent(self, since: int) -> None:
        """Mark entries as changed whose position moved because a silence was inserted late at this sample."""
        since_s = self._axis.sample(since)
        for turn in self._turns.values():
            if self._axis.place(turn.began) >= since_s and ("turns", turn.turn_id) in self._open.returned:
                self._touch("turns", turn.turn_id)

    def _decision(self, command: Json) -> Json:
        decision = {"type": "RequireSilence", **self._texts.resolved(command["decision"])}
        awaited_ms = round(1000 * command.get("more_s", 0.0), 1)  # missing in old logs
        return decode(decision, _DECISION).as_json() | {"awaited_ms": awaited_ms}

    def _touch(self, kind: str, key: str) -> None:
        self._changed.add((kind, key))
        self._open.returned.add((kind, key))

    def _text(self, reference: Json) -> str:
        return str(self._texts.resolved(reference))

    def _heard_of(self, response: AgentResponse) -> str | None:
        """Return the played text, None if unknown. Old logs without playout data at the end have "" for the
        last response.
        """
        known = response.status != "hung_up" or self._open.gone
        return self._heard.get(response.item_id) if known else None


@dataclass(slots=True)
class _Open:
    """Incomplete state. typed: turn that the next response answers. reported: responses whose report follows.
    returned: entries returned before. gone: the log has playout data at the end of the call.
    """

    spoken: Moment | None = None
    ended: Moment | None = None
    ended_by: str = ""
    typed: str | None = None
    reported: deque[str] = field(default_factory=deque)
    returned: set[tuple[str, str]] = field(default_factory=set)
    gone: bool = False
