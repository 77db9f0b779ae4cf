"""Steps of a call's tools, from the lines of its log.

Based on commands, not on responses: a preemptive response that was dropped ran no tool, and a tool called in
a preemptive response, or that waits for playout, runs later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from voiceagent.calls.log.codec import Json


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A response called a tool. arguments: JSON text, as in the log."""

    call_id: str
    name: str
    arguments: Json
    response_id: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The server started to run the tool."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The tool call is over. outcome: "done", "failed" (also if it was refused and did not run) or
    "cancelled". output: text, as in the log. If a call has several, the first counts.
    """

    call_id: str
    outcome: str
    output: Json


ToolStep = ToolCalled | ToolStarted | ToolEnded


class ToolSteps:
    """Converts the records of a log, in order."""

    def __init__(self) -> None:
        self._response_id = ""
        self._known: set[str] = set()

    def of(self, line: Json) -> Iterator[ToolStep]:
        event = line["event"]
        match event:
            case {"type": "ToolCallsReady" | "CallsDue", "response_id": response_id}:
                self._response_id = response_id
            case {"type": "ToolFinished", "call_id": call_id, "outcome": outcome, "output": output}:
                yield ToolEnded(call_id, outcome, output)
            case {"type": "ItemCreated", "item": {"type": "ToolOutputItem"} as item}:
                yield ToolEnded(item["call_id"], "done", item["output"])
        called_here: set[str] = set()
        for command in line["commands"]:
            if command["type"] == "ReleaseResponse":  # tool calls of a preemptive response follow its release
                self._response_id = command["response_id"]
            for step in self._of_command(command, event, called_here):
                if isinstance(step, ToolCalled):
                    called_here.add(step.call_id)
                yield step

    def _of_command(self, command: Json, event: Json, called_here: set[str]) -> Iterator[ToolStep]:
        match command:
            case {"type": "NotifyToolCall", "call": call, "response_id": response_id}:
                self._response_id = response_id  # the client's own, whose ids may repeat
                yield self._called(call)
            case {"type": "NotifyItemAdded", "item": {"type": "ToolCallItem", "call": call}}:
                if event["type"] != "ItemCreated":  # otherwise an old call in the client's history
                    yield from self._new(call)
            case {"type": "NotifyMcpCall" | "NotifyMcpApprovalRequest", "item": {"call": call}}:
                yield from self._new(call)
            case {"type": "RunTool", "call": call}:
                yield from self._new(call)
                yield ToolStarted(call["call_id"])
            case {"type": "NotifyItemDone", "item": {"type": "ToolOutputItem"} as item}:
                refused = item["call_id"] in called_here
                yield ToolEnded(item["call_id"], "failed" if refused else "cancelled", item["output"])

    def _new(self, call: Json) -> Iterator[ToolCalled]:
        if call["call_id"] not in self._known:
            yield self._called(call)

    def _called(self, call: Json) -> ToolCalled:
        self._known.add(call["call_id"])
        return ToolCalled(call["call_id"], call["name"], call["arguments"], self._response_id)
