"""Timeline of a call for drawing: transcripts, played text, end-of-turn decisions, latency stages.

Input are the lines of a log, also of a running call. Output is JSON, with times in seconds of the recording;
the fields are specified at `GET /v1/calls/{id}` (voiceagent/inspector).
"""

from __future__ import annotations

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.entries import provider_facts
from voiceagent.calls.log.event_log import VERSION, LogError, line_of
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.calls.log.time_axis import Moment, TimeAxis
from voiceagent.calls.log.timeline_entries import rounded
from voiceagent.calls.log.timeline_parts import TimelineParts
from voiceagent.calls.log.tool_steps import ToolSteps

_SOUND_OF_A_RESPONSE = b'"event":{"type":"SpeechReady"'
"""Marker of two thirds of the lines, which add nothing to a recording and are skipped."""
REQUESTS = {
    "SettingsChanged": "session.update",
    "ResponseRequested": "response.create",
    "ResponseCancelled": "response.cancel",
    "InputCommitted": "input_audio_buffer.commit",
    "InputCleared": "input_audio_buffer.clear",
    "OutputCleared": "output_audio_buffer.clear",
    "ItemCreated": "conversation.item.create",
    "ItemDeleted": "conversation.item.delete",
    "ItemTruncated": "conversation.item.truncate",
}
"""Logged events of client requests, and the names of these in the protocol."""


class Timeline:
    """Timeline of one call: call `add_line` with its lines in order, and `changes` for the output."""

    def __init__(self) -> None:
        self._texts = ReadTexts()
        self._axis = TimeAxis(0.0)
        self._call: Json = None
        self._parts = TimelineParts(self._texts, self._axis)
        self._tool_steps = ToolSteps()
        self._stalls: list[tuple[float, float]] = []
        self._failed_hooks: list[tuple[float, Json]] = []
        self._requests: list[tuple[float, Json]] = []
        self._started = False

    @property
    def has_ended(self) -> bool:
        """True if the log contains its end."""
        return self._call is not None and self._call["reason"] is not None

    def add_line(self, line: bytes) -> None:
        """Process the next complete line. Raises LogError if it is not a line of a log."""
        if _SOUND_OF_A_RESPONSE in line and self._call is not None:
            return
        try:
            read = line_of(line)
            self._texts.add(read)
            if self._call is None:
                self._begin(self._texts.resolved(read))
            elif "n" in read:
                self._record(read)
            else:
                self._other(self._texts.resolved(read))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LogError(f"no line of a log: {error}") from error

    def changes(self) -> dict[str, Json]:
        """Return the changes since the last call: the call, each changed turn, response and tool in full."""
        stalls, self._stalls = self._stalls, []
        hooks, self._failed_hooks = self._failed_hooks, []
        requests, self._requests = self._requests, []
        return {
            "call": self._call,
            **self._parts.changes(),
            "stalls": [
                {"at_s": rounded(self._axis.place(Moment(clock_s))), "lag_ms": round(1000 * lag_s, 1)}
                for clock_s, lag_s in stalls
            ],
            "failed_hooks": [
                {"at_s": rounded(self._axis.place(Moment(clock_s))), **hook} for clock_s, hook in hooks
            ],
            "requests": [
                {"at_s": rounded(self._axis.place(Moment(clock_s))), **asked} for clock_s, asked in requests
            ],
        }

    # ---- processing of lines

    def _begin(self, header: Json) -> None:
        if header.get("log") != VERSION:
            raise LogError(f"log is {header.get('log')!r}; allowed: {VERSION}")
        self._axis = TimeAxis(header["clock_s"])
        self._parts = TimelineParts(self._texts, self._axis)
        self._call = {
            "call_id": header["call_id"],
            "started_at": header["started_at"],
            "versions": header["versions"],
            "words": header["words"],
            "model": header["settings"].get("model", ""),
            "agents": [header["settings"].get("agent", "")],
            "provider_data": {},
            "rate_hz": 0,
            "seconds": 0.0,
            "events": 0,
            "reason": None,
            "end_code": "",
        }

    def _record(self, line: Json) -> None:
        self._axis.record(line["s"], line["heard_s"])
        self._call["events"] = line["n"]
        self._passed(line["s"])
        event = line["event"]
        self._event(event, Moment(line["s"], event.get("at_s")))
        self._request(event, line["s"])
        for command in line["commands"]:
            self._parts.command(command, Moment(line["s"]))
        for step in self._tool_steps.of(line):
            self._parts.tool(step, Moment(line["s"]))

    def _other(self, line: Json) -> None:
        match line:
            case {"type": "TurnReport"}:
                self._parts.report(line)
            case {"type": "CallIdentified"}:
                facts = provider_facts(line, self._call["words"])
                self._call["provider_data"] = {fact.name: fact.value for fact in facts}
            case {"type": "RecordingBegan", "rate_hz": rate_hz}:
                self._axis.recorded(rate_hz)
                self._call["rate_hz"] = rate_hz
            case {"type": "SoundSpan", "response_id": response_id, "since": since, "until": until}:
                self._parts.sound(response_id, since, until)
            case {"type": "SilentSpan", "since": since, "until": until}:
                self._axis.silent(since, until)
                self._parts.silent(since)
            case {"type": "LoopStalled", "clock_s": clock_s, "lag_s": lag_s}:
                self._stalls.append((clock_s - lag_s, lag_s))
            case {"type": "HeardText", "item_id": item_id, "text": text}:
                self._parts.set_played_text(item_id, text)
            case {"type": "CallEnded", "reason": reason, "clock_s": clock_s, "heard": heard}:
                self._call["reason"], self._call["end_code"] = reason, line.get("end_code", "")
                self._passed(clock_s)
                for message in heard:
                    self._parts.set_played_text(message["item_id"], message["text"])
                self._parts.hung_up()
            case {"type": "CallLost", "reason": reason, "clock_s": clock_s}:
                self._call["reason"], self._call["end_code"] = reason, "process_lost"
                self._passed(clock_s)

    def _event(self, event: Json, moment: Moment) -> None:
        match event:
            case {"type": "AgentChanged", "agent": agent} if self._text(agent) != self._call["agents"][-1]:
                before = self._call["agents"] if any(self._call["agents"]) else []  # it began without one
                self._call["agents"] = [*before, self._text(agent)]
            case {"type": "HookFailed", "name": name, "place": place, "reason": reason}:
                hook = {"name": name, "place": place, "reason": self._text(reason)}
                self._failed_hooks.append((moment.clock_s, hook))
            case _:
                self._parts.event(event, moment)

    def _request(self, event: Json, clock_s: float) -> None:
        """Add a client's request to the timeline, with the sideband that sent it; 0 is the call's own client,
        the only one in older logs.
        """
        self._started = self._started or event["type"] == "CallStarted"
        name, sideband = REQUESTS.get(event["type"]), event.get("sideband", 0)
        # before the start, requests come from the transport of the call's own client
        if name is not None and (self._started or sideband):
            self._requests.append((clock_s, {"request": name, "sideband": sideband}))

    def _passed(self, clock_s: float) -> None:
        self._call["seconds"] = max(self._call["seconds"], rounded(self._axis.place(Moment(clock_s))))

    def _text(self, reference: Json) -> str:
        return str(self._texts.resolved(reference))
