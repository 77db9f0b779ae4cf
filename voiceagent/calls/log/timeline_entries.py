"""Entries of a timeline: turns, responses and tools, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.time_axis import Moment, TimeAxis


@dataclass(slots=True)
class CallerTurn:
    """A turn of the caller. A spoken one has a start and an end; typed or keyed input has one time. settled:
    its transcript was final. end_code: the rule that ended it, "" in old logs.
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
    end_code: str = field(default="", init=False)

    def as_json(self, axis: TimeAxis) -> dict[str, Any]:
        """Return the turn with times in seconds of the recording."""
        return {
            "turn_id": self.turn_id,
            "began_s": _at(self.began, axis),
            "ended_s": _at(self.ended, axis),
            "settled_s": _at(self.settled, axis),
            "decided_s": _at(self.decided, axis),
            "ended_by": self.ended_by,
            "end_code": self.end_code,
            "said": self.said,
            "end_of_turn": self.decision if self.ended_by == "silence" else None,
            "playout": self.playout,
        }


@dataclass(slots=True)
class AgentResponse:
    """A response of the agent. spans: its audio in the recording, in samples. interrupted_by: what cut it, ""
    for nothing and in old logs.
    """

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
    interrupted_by: str = field(default="", init=False)

    def as_json(self, response_id: str, heard: str | None, axis: TimeAxis) -> dict[str, Any]:
        """Return the response with times in seconds of the recording. heard: None if unknown."""
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
            "interrupted_by": self.interrupted_by,
            "usage": self.usage,
            "report": self.report,
        }


@dataclass(slots=True)
class ToolRun:
    """A tool call of the model. began: start of its run, or time of the call for a client's tool and one that
    never ran.
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
        """Return the tool with times in seconds of the recording."""
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
    """Round to milliseconds, the precision of the output."""
    return round(seconds, 3)


def _at(moment: Moment | None, axis: TimeAxis) -> float | None:
    return None if moment is None else rounded(axis.place(moment))
