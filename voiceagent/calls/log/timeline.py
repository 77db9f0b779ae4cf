"""A call as it is drawn: what was said and heard when, why each turn ended, and where its time went. Pure.

Fed with the lines of a log, of a call that is over or goes on. What it tells is JSON, times in seconds of the
recording: `GET /v1/calls/{id}` (voiceagent/inspector) says what the fields mean.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json, decode
from voiceagent.calls.log.entries import told_by_line
from voiceagent.calls.log.event_log import VERSION, LogError
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.calls.log.time_axis import Moment, TimeAxis
from voiceagent.calls.log.timeline_entries import AgentResponse, CallerTurn, ToolRun, rounded
from voiceagent.calls.log.tool_steps import ToolCalled, ToolEnded, ToolStarted, ToolStep, ToolSteps
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.latency import TurnReport, as_json

_SOUND_OF_A_RESPONSE = b'"event":{"type":"SpeechReady"'
"""Two lines of three, of which a recording tells all: they are not read."""
_DECISION = {"RequireSilence": EndOfTurn}


class Timeline:
    """One call. `take` its lines in order, and ask for `changes` whenever they are wanted."""

    def __init__(self) -> None:
        self._texts = ReadTexts()
        self._axis = TimeAxis(0.0)
        self._call: Json = None
        self._turns: dict[str, CallerTurn] = {}
        self._responses: dict[str, AgentResponse] = {}
        self._tools: dict[str, ToolRun] = {}
        self._tool_steps = ToolSteps()
        self._stalls: list[tuple[float, float]] = []
        self._failed_hooks: list[tuple[float, Json]] = []
        self._heard: dict[str, str] = {}
        self._open = _Open()
        self._changed: set[tuple[str, str]] = set()

    @property
    def over(self) -> bool:
        """The log has told its end."""
        return self._call is not None and self._call["reason"] is not None

    def take(self, line: bytes) -> None:
        """The next whole line. Raises LogError where it is none of a log's."""
        if _SOUND_OF_A_RESPONSE in line and self._call is not None:
            return
        try:
            read = json.loads(line.decode("utf-8", "surrogatepass"))
            self._texts.take(read)
            if self._call is None:
                self._begin(self._texts.resolved(read))
            elif "n" in read:
                self._record(read)
            else:
                self._other(self._texts.resolved(read))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LogError(f"no line of a log: {error}") from error

    def changes(self) -> dict[str, Json]:
        """What is new since it was asked before: the call, and all of each turn, response and tool."""
        changed, self._changed = self._changed, set()
        stalls, self._stalls = self._stalls, []
        hooks, self._failed_hooks = self._failed_hooks, []
        return {
            "call": self._call,
            "turns": [t.as_json(self._axis) for key, t in self._turns.items() if ("turns", key) in changed],
            "responses": [
                r.as_json(key, self._heard_of(r), self._axis)
                for key, r in self._responses.items()
                if ("responses", key) in changed
            ],
            "tools": [t.as_json(self._axis) for key, t in self._tools.items() if ("tools", key) in changed],
            "stalls": [
                {"at_s": rounded(self._axis.place(Moment(clock_s))), "lag_ms": round(1000 * lag_s, 1)}
                for clock_s, lag_s in stalls
            ],
            "failed_hooks": [
                {"at_s": rounded(self._axis.place(Moment(clock_s))), **hook} for clock_s, hook in hooks
            ],
        }

    # ---- what the lines say

    def _begin(self, header: Json) -> None:
        if header.get("log") != VERSION:
            raise LogError(f"log is {header.get('log')!r}; allowed: {VERSION}")
        self._axis = TimeAxis(header["clock_s"])
        self._call = {
            "call_id": header["call_id"],
            "started_at": header["started_at"],
            "versions": header["versions"],
            "words": header["words"],
            "model": header["settings"].get("model", ""),
            "agents": [header["settings"].get("agent", "")],
            "told": {},
            "rate_hz": 0,
            "seconds": 0.0,
            "events": 0,
            "reason": None,
        }

    def _record(self, line: Json) -> None:
        self._axis.record(line["s"], line["heard_s"])
        self._call["events"] = line["n"]
        self._passed(line["s"])
        event = line["event"]
        self._event(event, Moment(line["s"], event.get("at_s")))
        for command in line["commands"]:
            self._command(command, Moment(line["s"]))
        for step in self._tool_steps.of(line):
            self._tool(step, Moment(line["s"]))

    def _other(self, line: Json) -> None:
        match line:
            case {"type": "TurnReport"}:
                self._report(line)
            case {"type": "CallIdentified"}:
                facts = told_by_line(line, self._call["words"])
                self._call["told"] = {fact.name: fact.value for fact in facts}
            case {"type": "RecordingBegan", "rate_hz": rate_hz}:
                self._axis.recorded(rate_hz)
                self._call["rate_hz"] = rate_hz
            case {"type": "SoundSpan", "response_id": response_id, "since": since, "until": until}:
                if (response := self._responses.get(response_id)) is not None:
                    response.spans.append((since, until))
                    self._touch("responses", response_id)
            case {"type": "SilentSpan", "since": since, "until": until}:
                self._axis.silent(since, until)
                self._touch_later(since)
            case {"type": "LoopStalled", "clock_s": clock_s, "lag_s": lag_s}:
                self._stalls.append((clock_s - lag_s, lag_s))
            case {"type": "HeardText", "item_id": item_id, "text": text}:
                self._hear(item_id, text)
            case {"type": "CallEnded", "reason": reason, "clock_s": clock_s, "heard": heard}:
                self._call["reason"] = reason
                self._passed(clock_s)
                for message in heard:
                    self._hear(message["item_id"], message["text"])
                self._hung_up()
            case {"type": "CallLost", "reason": reason, "clock_s": clock_s}:
                self._call["reason"] = reason
                self._passed(clock_s)

    def _event(self, event: Json, moment: Moment) -> None:
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
            case {"type": "AgentChanged", "agent": agent} if self._text(agent) != self._call["agents"][-1]:
                before = self._call["agents"] if any(self._call["agents"]) else []  # it began without one
                self._call["agents"] = [*before, self._text(agent)]
            case {"type": "HookFailed", "name": name, "place": place, "reason": reason}:
                hook = {"name": name, "place": place, "reason": self._text(reason)}
                self._failed_hooks.append((moment.clock_s, hook))
            case {"type": "ItemCreated", "item": {"type": "MessageItem", "role": "user"} as item} if not (
                item.get("by_line")
            ):
                item_id, text = item["item_id"], self._text(item["text"])
                self._turns[item_id] = CallerTurn(item_id, moment, moment, moment, "typed", text)
                self._touch("turns", item_id)

    def _tool(self, step: ToolStep, moment: Moment) -> None:
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

    def _command(self, command: Json, moment: Moment) -> None:
        match command:
            case {"type": "StartRecognition", "item_id": turn_id, "at_s": at_s}:
                self._turns[turn_id] = CallerTurn(turn_id, Moment(moment.clock_s, at_s))
            case {"type": "NotifySpeechStarted", "item_id": turn_id}:
                # of what an upstream hears this comes first, and its positions are not those of the recording
                self._turns.setdefault(turn_id, CallerTurn(turn_id, moment))
            case {"type": "RequireSilence", "item_id": turn_id}:
                if (turn := self._turns.get(turn_id)) is not None:
                    turn.decision = self._decision(command)
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                turn = self._turns.setdefault(turn_id, CallerTurn(turn_id, moment))
                turn.ended, turn.ended_by = self._open.ended or moment, self._open.ended_by or "upstream"
                turn.decided = moment
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
                if ("responses", response_id) not in self._open.told:
                    self._responses.pop(response_id, None)  # preemptive: nobody knew of it
            case {"type": "NotifyResponseEnded", "response_id": response_id} as over:
                if (ended := self._responses.get(response_id)) is not None:
                    ended.status = "false_end" if over["false_end"] else over["status"]
                    self._open.reported.append(response_id)
                    self._touch("responses", response_id)

    def _decision(self, command: Json) -> Json:
        told = {"type": "RequireSilence", **self._resolved(command["decision"])}
        awaited_ms = round(1000 * command.get("more_s", 0.0), 1)  # old logs do not have it
        return decode(told, _DECISION).as_json() | {"awaited_ms": awaited_ms}

    def _report(self, line: Json) -> None:
        """A report comes right behind the end of its response; one of the call's end names the response."""
        if line["outcome"] == "hung_up":
            response_id = line["response_id"]
        else:
            response_id = self._open.reported.popleft() if self._open.reported else ""
        if (response := self._responses.get(response_id)) is not None:
            report = as_json(decode(line, {"TurnReport": TurnReport}))
            del report["turn_id"], report["end_of_turn"]  # the turn tells it
            response.report = report
            self._touch("responses", response_id)

    def _hear(self, item_id: str, text: str) -> None:
        if self._heard.get(item_id) == text:
            return
        self._heard[item_id] = text
        for response_id, response in self._responses.items():
            if response.item_id == item_id:
                self._touch("responses", response_id)

    def _hung_up(self) -> None:
        """What was still going on ended with the call."""
        for response_id, response in self._responses.items():
            if not response.status:
                response.status = "hung_up"
                self._touch("responses", response_id)

    def _passed(self, clock_s: float) -> None:
        self._call["seconds"] = max(self._call["seconds"], rounded(self._axis.place(Moment(clock_s))))

    def _touch(self, kind: str, key: str) -> None:
        self._changed.add((kind, key))
        self._open.told.add((kind, key))

    def _touch_later(self, since: int) -> None:
        """A silence was noticed late: what was placed behind it stands elsewhere."""
        since_s = self._axis.sample(since)
        for turn in self._turns.values():
            if self._axis.place(turn.began) >= since_s and ("turns", turn.turn_id) in self._open.told:
                self._touch("turns", turn.turn_id)

    def _text(self, reference: Json) -> str:
        return str(self._texts.resolved(reference))

    def _resolved(self, value: Json) -> Json:
        return self._texts.resolved(value)

    def _heard_of(self, response: AgentResponse) -> str | None:
        """Logs that do not tell what was played when the call ended have "" for what it ended in."""
        known = response.status != "hung_up" or self._open.gone
        return self._heard.get(response.item_id) if known else None


@dataclass(slots=True)
class _Open:
    """What is not complete yet. reported: responses whose report comes next. told: what was ever told of.
    gone: the log tells what was played when the call ended.
    """

    spoken: Moment | None = None
    ended: Moment | None = None
    ended_by: str = ""
    reported: deque[str] = field(default_factory=deque)
    told: set[tuple[str, str]] = field(default_factory=set)
    gone: bool = False
