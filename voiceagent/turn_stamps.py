"""When what happened in a call's turns: from events and commands to the stamps of each reply's ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from voiceagent import commands as do
from voiceagent import events as ev
from voiceagent import notices as tell
from voiceagent.latency import LatencyBudget, Outcome, Stamp, TurnCounts, TurnLedger, TurnReport
from voiceagent.replying import Milestone

_OUTCOMES: dict[tell.ReplyStatus, Outcome] = {
    "completed": "completed",
    "incomplete": "completed",
    "cancelled": "interrupted",
    "failed": "failed",
}


class TurnStamps:
    """Keeps a ledger for each reply of one call, provisional or not.

    Positions in the caller's sound become clock time through the newest sound: it was spoken when it arrived.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._position_s = 0.0
        self._arrived_s = clock()
        self._turn_id = ""
        self._speech_end: dict[str, float] = {}
        self._decided: dict[str, float] = {}
        self._transcribed: dict[str, float] = {}
        self._counts: dict[str, TurnCounts] = {}
        self._ledgers: dict[str, TurnLedger] = {}
        self._turn_of: dict[str, str] = {}
        self._provisional: set[str] = set()

    def heard(self, position_s: float, arrived_s: float) -> None:
        """The caller's sound up to `position_s` has arrived."""
        self._position_s, self._arrived_s = position_s, arrived_s

    def event(self, event: ev.Event) -> None:
        """Stamp what an event tells."""
        match event:
            case ev.TurnEnded(at_s):
                self._speech_end[self._turn_id] = self._arrived_s - (self._position_s - at_s)
                self._decided[self._turn_id] = self._clock()
            case ev.TranscriptChanged(item_id=item_id, settled=True):
                self._transcribed[item_id] = self._clock()
            case _:
                pass

    def command(self, command: do.Command) -> None:
        """Stamp what a command begins."""
        match command:
            case do.StartRecognition(item_id):
                self._turn_id = item_id
                self._counts[item_id] = TurnCounts()
            case do.StartReply(plan, turn_id, provisional):
                self._open(plan.reply_id, turn_id or plan.reply_id)
                if provisional:
                    self._provisional.add(plan.reply_id)
                    self._count(plan.reply_id, provisional_attempts=1)
            case do.ReleaseReply(reply_id):
                self._provisional.discard(reply_id)
                self._count(reply_id, provisional_hits=1)
            case tell.TellReplyStarted(reply_id):
                if reply_id not in self._ledgers:
                    self._open(reply_id, self._turn_id)
                self._attach_turn(reply_id)
            case _:
                pass

    def milestone(self, reply_id: str, name: Milestone) -> None:
        """A reply in the making reached a milestone; the first time counts."""
        if ledger := self._ledgers.get(reply_id):
            ledger.stamp(name, self._clock())

    def first_frame(self, reply_id: str, at_s: float) -> None:
        """The first frame of a reply was handed to the transport."""
        if ledger := self._ledgers.get(reply_id):
            ledger.stamp("first_frame", at_s)

    def cancelled(self, reply_id: str, pieces: int) -> None:
        """A reply was given up after `pieces` of text; those of a provisional one were generated for
        nothing.
        """
        if reply_id in self._provisional:
            self._count(reply_id, tokens_wasted=pieces)
            self._provisional.discard(reply_id)
            self._forget(reply_id)

    def report(self, ended: tell.TellReplyEnded, budget: LatencyBudget) -> TurnReport | None:
        """The stages of a reply that is over; None where it was not known."""
        ledger = self._ledgers.get(ended.reply_id)
        if ledger is None:
            return None
        usage = ended.usage
        self._count(ended.reply_id, prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens)
        counts = self._counts.pop(self._turn_of[ended.reply_id], TurnCounts())
        self._forget(ended.reply_id)
        return ledger.report(budget, _OUTCOMES[ended.status], counts)

    def _open(self, reply_id: str, turn_id: str) -> None:
        self._ledgers[reply_id] = TurnLedger(turn_id)
        self._turn_of[reply_id] = turn_id

    def _attach_turn(self, reply_id: str) -> None:
        ledger, turn_id = self._ledgers[reply_id], self._turn_of[reply_id]
        sources: tuple[tuple[Stamp, dict[str, float]], ...] = (
            ("speech_end", self._speech_end),
            ("turn_decided", self._decided),
            ("transcript_final", self._transcribed),
        )
        for name, stamps in sources:
            if (at_s := stamps.pop(turn_id, None)) is not None:
                ledger.stamp(name, at_s)

    def _count(self, reply_id: str, **more: int) -> None:
        turn_id = self._turn_of[reply_id]
        counts = self._counts.get(turn_id, TurnCounts())
        added = {name: getattr(counts, name) + number for name, number in more.items()}
        self._counts[turn_id] = replace(counts, **added)

    def _forget(self, reply_id: str) -> None:
        self._ledgers.pop(reply_id, None)
        self._turn_of.pop(reply_id, None)
