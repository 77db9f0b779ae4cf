"""Outline of a call by turns, for comparing two runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json
from voiceagent.calls.replaying.forked import Step
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem


@dataclass(slots=True)
class OutlinedTool:
    """A tool call. arguments: JSON. output: "" while there is none."""

    call_id: str
    name: str
    arguments: str
    output: str = ""


@dataclass(slots=True)
class OutlinedTurn:
    """One turn of the caller, or one typed text, and its response.

    spoke_until_s: position in the caller's audio. ended_after_s: silence that ended the turn. waited_s: from
    the last voiced sample to the first audio of the response, None without a response or a voice. outcome: of
    the response, "cut off" if the turn was not over. tools: those that the LLM called. A response to a tool's
    result belongs to the turn, too.
    """

    turn_id: str
    spoke_until_s: float
    ended_after_s: float
    said: str = ""
    waited_s: float | None = None
    answered: str = ""
    outcome: str = ""
    tools: list[OutlinedTool] = field(default_factory=list)


@dataclass(slots=True)
class _Outline:
    turns: dict[str, OutlinedTurn] = field(default_factory=dict)
    typed: set[str] = field(default_factory=set)  # of these turns
    answers: dict[str, str] = field(default_factory=dict)  # turn by response
    tools: dict[str, OutlinedTool] = field(default_factory=dict)  # by call_id
    calls: dict[str, list[OutlinedTool]] = field(default_factory=dict)  # by response, also of dropped ones
    released: set[str] = field(default_factory=set)  # responses that the caller hears
    ended: tuple[float, float, float] = (0.0, 0.0, 0.0)  # the newest end of speech: position, clock, silence

    def step(self, step: Step) -> None:
        if isinstance(step.event, ev.TurnEnded):
            silent_s = max(0.0, step.received_s - step.event.at_s)
            self.ended = step.event.at_s, step.clock_s - silent_s, silent_s
        self.event(step.event, step.received_s)
        for command in step.commands:
            self.command(command, step.clock_s)

    def event(self, event: ev.Event, received_s: float) -> None:
        match event:
            case ev.ItemCreated(item=MessageItem(role="user", by_line=False) as item):
                self.turns[item.item_id] = OutlinedTurn(item.item_id, received_s, 0.0, item.text)
                self.typed.add(item.item_id)
            case ev.ToolCallsReady(response_id, calls):
                tools = [OutlinedTool(one.call_id, one.name, one.arguments) for one in calls]
                self.tools.update((tool.call_id, tool) for tool in tools)
                self.calls.setdefault(response_id, []).extend(tools)
                if response_id in self.released:
                    self.release(response_id)
            case ev.ToolFinished(call_id, output=output) if call_id in self.tools:
                self.tools[call_id].output = output
            case _:
                pass

    def command(self, command: Json, clock_s: float) -> None:
        match command:
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                self.turns[turn_id] = OutlinedTurn(turn_id, self.ended[0], self.ended[2])
            case {"type": "NotifyTranscript", "item_id": turn_id, "text": text, "final": True}:
                if (turn := self.turns.get(turn_id)) is not None:
                    turn.said = text
            case {"type": "StartResponse", "response_id": response_id} as started:
                self.start(response_id, started["turn_id"], started["preemptive"], started["out_of_band"])
            case {"type": "ReleaseResponse", "response_id": response_id}:
                self.release(response_id)
            case {"type": "Play", "response_id": response_id}:
                turn = self.answered(response_id)
                if turn is not None and turn.waited_s is None and turn.turn_id not in self.typed:
                    turn.waited_s = clock_s - self.ended[1]
            case {"type": "NotifyResponseText", "response_id": response_id, "text": text}:
                if (turn := self.answered(response_id)) is not None:
                    turn.answered += text
            case {"type": "NotifyResponseEnded", "response_id": response_id} as over:
                if (turn := self.answered(response_id)) is not None:
                    turn.outcome = "cut off" if over["false_end"] else over["status"]
            case _:
                pass

    def start(self, response_id: str, turn_id: str | None, preemptive: bool, out_of_band: bool) -> None:
        newest = next(reversed(self.turns.values()), None)
        if turn_id is None and not out_of_band and newest is not None:
            unanswered = newest.turn_id in self.typed and newest.turn_id not in self.answers.values()
            if newest.tools or unanswered:
                turn_id = newest.turn_id  # it answers the result of a tool, or what was typed
        if turn_id is not None:
            self.answers[response_id] = turn_id
        if not preemptive:
            self.release(response_id)

    def release(self, response_id: str) -> None:
        """Add the tool calls of a response to its turn. A dropped response's count for nothing."""
        self.released.add(response_id)
        if (turn := self.answered(response_id)) is not None:
            turn.tools += self.calls.pop(response_id, [])

    def answered(self, response_id: str) -> OutlinedTurn | None:
        return self.turns.get(self.answers.get(response_id, ""))


def outline(steps: Iterable[Step]) -> list[OutlinedTurn]:
    """Return the turns of a run, in order."""
    found = _Outline()
    for step in steps:
        found.step(step)
    return list(found.turns.values())


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures of a call, or of one of its forks. cut_off: turns that were answered before they were over.
    mean_wait_s: None without responses.
    """

    turns: int
    cut_off: int
    mean_wait_s: float | None


def totals(turns: Sequence[OutlinedTurn]) -> Totals:
    """Return the figures of a call with these turns."""
    waits = [turn.waited_s for turn in turns if turn.waited_s is not None]
    cut_off = sum(turn.outcome == "cut off" for turn in turns)
    return Totals(len(turns), cut_off, sum(waits) / len(waits) if waits else None)
