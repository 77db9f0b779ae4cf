"""Outline of a call by turns, for comparing two runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json
from voiceagent.calls.replaying.forked import Step
from voiceagent.conversation import events as ev


@dataclass(slots=True)
class OutlinedTurn:
    """One turn of the caller and its response.

    spoke_until_s: position in the caller's audio. ended_after_s: silence that ended the turn. waited_s: from
    the last voiced sample to the first audio of the response, None without a response. outcome: of the
    response, "cut off" if the turn was not over.
    """

    turn_id: str
    spoke_until_s: float
    ended_after_s: float
    said: str = ""
    waited_s: float | None = None
    answered: str = ""
    outcome: str = ""


@dataclass(slots=True)
class _Outline:
    turns: dict[str, OutlinedTurn] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)  # turn by response
    ended: tuple[float, float, float] = (0.0, 0.0, 0.0)  # the newest end of speech: position, clock, silence

    def step(self, step: Step) -> None:
        if isinstance(step.event, ev.TurnEnded):
            silent_s = max(0.0, step.received_s - step.event.at_s)
            self.ended = step.event.at_s, step.clock_s - silent_s, silent_s
        for command in step.commands:
            self.command(command, step.clock_s)

    def command(self, command: Json, clock_s: float) -> None:
        match command:
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                self.turns[turn_id] = OutlinedTurn(turn_id, self.ended[0], self.ended[2])
            case {"type": "NotifyTranscript", "item_id": turn_id, "text": text, "final": True}:
                if (turn := self.turns.get(turn_id)) is not None:
                    turn.said = text
            case {"type": "StartResponse", "response_id": response_id, "turn_id": str(turn_id)}:
                self.answers[response_id] = turn_id
            case {"type": "Play", "response_id": response_id}:
                turn = self.answered(response_id)
                if turn is not None and turn.waited_s is None:
                    turn.waited_s = clock_s - self.ended[1]
            case {"type": "NotifyResponseText", "response_id": response_id, "text": text}:
                if (turn := self.answered(response_id)) is not None:
                    turn.answered += text
            case {"type": "NotifyResponseEnded", "response_id": response_id} as over:
                if (turn := self.answered(response_id)) is not None:
                    turn.outcome = "cut off" if over["false_end"] else over["status"]
            case _:
                pass

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
    """Figures of a run. cut_off: turns that were answered before they were over. mean_wait_s: None without
    responses.
    """

    turns: int
    cut_off: int
    mean_wait_s: float | None


def totals(turns: Sequence[OutlinedTurn]) -> Totals:
    """Return the figures of a run."""
    waits = [turn.waited_s for turn in turns if turn.waited_s is not None]
    cut_off = sum(turn.outcome == "cut off" for turn in turns)
    return Totals(len(turns), cut_off, sum(waits) / len(waits) if waits else None)
