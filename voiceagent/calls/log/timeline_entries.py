"""What a timeline has of a call: turns, responses and tools, and how each is told as JSON. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.time_axis import Moment, TimeAxis


@dataclass(slots=True)
class CallerTurn:
    """What the caller said. By voice it has a begin and an end; typed or pressed, only a moment. settled: the
    recognizer had its last words.
    """

    turn_id: str
    began: Moment
    ended: Moment | None = None
    decided: Moment | None = None
    ended_by: str = ""
    said: str = ""
    decision: Json = None
    playout: Json = None
    settled: Moment | None = field(default=None, init=False)

    def as_json(self, axis: TimeAxis) -> dict[str, Any]:
        """The turn, its times in seconds of the recording."""
        return {
            "turn_id": self.turn_id,
            "began_s": _at(self.began, axis),
            "ended_s": _at(self.ended, axis),
            "settled_s": _at(self.settled, axis),
            "decided_s": _at(self.decided, axis),
            "ended_by": self.ended_by,
            "said": self.said,
            "end_of_turn": self.decision if self.ended_by == "silence" else None,
            "playout": self.playout,
        }


@dataclass(slots=True)
class AgentResponse:
    """What the agent said. spans: where it is heard, in samples."""

    turn_id: str | None
    began: Moment
    preemptive: bool = False
    item_id: str = ""
    written: str = ""
    spans: list[tuple[int, int]] = field(default_factory=list)
    status: str = ""
    failure: str = ""
    usage: Json = field(default=None, init=False)
    report: Json = field(default=None, init=False)

    def as_json(self, response_id: str, heard: str | None, axis: TimeAxis) -> dict[str, Any]:
        """The response, its times in seconds of the recording. heard: None where that is not known."""
        return {
            "response_id": response_id,
            "turn_id": self.turn_id,
            "began_s": _at(self.began, axis),
            "preemptive": self.preemptive,
            "written": self.written,
            "heard": heard,
            "sound": [[rounded(axis.sample(at)) for at in span] for span in self.spans],
            "status": self.status or "in_progress",
            "failure": self.failure,
            "usage": self.usage,
            "report": self.report,
        }


@dataclass(slots=True)
class ToolRun:
    """A tool that the model called. began: when it was run; a client's own, or one that never ran, when it
    was called.
    """

    call_id: str
    name: str
    arguments: str
    response_id: str
    began: Moment
    ended: Moment | None = None
    outcome: str = ""
    output: str = ""

    def as_json(self, axis: TimeAxis) -> dict[str, Any]:
        """The tool, its times in seconds of the recording."""
        return {
            "call_id": self.call_id,
            "name": self.name,
            "arguments": self.arguments,
            "response_id": self.response_id,
            "began_s": _at(self.began, axis),
            "ended_s": _at(self.ended, axis),
            "outcome": self.outcome,
            "output": self.output,
        }


def rounded(seconds: float) -> float:
    """Seconds as they are told: to the millisecond."""
    return round(seconds, 3)


def _at(moment: Moment | None, axis: TimeAxis) -> float | None:
    return None if moment is None else rounded(axis.place(moment))
