"""When what happened in a call's turns: from events and commands to the stamps of each reply's ledger."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notices as tell
from voiceagent.conversation.latency import LatencyBudget, Outcome, Stamp, TurnCounts, TurnLedger, TurnReport
from voiceagent.session.replying import Milestone

_OUTCOMES: dict[tell.ReplyStatus, Outcome] = {
    "completed": "completed",
    "incomplete": "completed",
    "cancelled": "interrupted",
    "failed": "failed",
}


REMEMBERED_TURNS = 8
"""Turns whose stamps are kept for a reply that comes late; most turns without a reply are noises."""


@dataclass(slots=True)
class _Turn:
    """What is known of one turn of the caller; times in seconds of the clock."""

    stamps: dict[Stamp, float] = field(default_factory=dict)
    counts: TurnCounts = field(default_factory=TurnCounts)

    def count(self, **more: int) -> None:
        added = {name: getattr(self.counts, name) + number for name, number in more.items()}
        self.counts = replace(self.counts, **added)


@dataclass(slots=True)
class _Reply:
    """What is known of one reply, and the turn it answers."""

    ledger: TurnLedger
    turn: _Turn
    provisional: bool = False
    released: bool = False


class TurnStamps:
    """Keeps a ledger for each reply of one call, provisional or not.

    Positions in the caller's sound become clock time through the newest sound: it was spoken when it arrived.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._position_s = 0.0
        self._arrived_s = clock()
        self._spoken_id = ""
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._replies: dict[str, _Reply] = {}

    def heard(self, position_s: float, arrived_s: float) -> None:
        """The caller's sound up to `position_s` has arrived."""
        self._position_s, self._arrived_s = position_s, arrived_s

    def event(self, event: ev.Event) -> None:
        """Stamp what an event tells."""
        match event:
            case ev.TurnEnded(at_s):
                stamps = self._turn(self._spoken_id).stamps
                stamps["speech_end"] = self._arrived_s - (self._position_s - at_s)
                stamps["turn_decided"] = self._clock()
            case ev.TranscriptChanged(item_id=item_id, settled=True):
                self._turn(item_id).stamps["transcript_final"] = self._clock()
            case _:
                pass

    def command(self, command: do.Command) -> None:
        """Stamp what a command begins."""
        match command:
            case do.StartRecognition(item_id):
                self._spoken_id = item_id
            case do.StartReply(plan, turn_id, provisional):
                self._open(plan.reply_id, turn_id or plan.reply_id, provisional)
            case do.ReleaseReply(reply_id):
                reply = self._replies[reply_id]
                reply.provisional, reply.released = False, True
                reply.turn.count(provisional_hits=1)
            case tell.TellReplyStarted(reply_id):
                if reply_id not in self._replies:  # an apology was made from no plan
                    self._open(reply_id, self._spoken_id, provisional=False)
                reply = self._replies[reply_id]
                for name, at_s in reply.turn.stamps.items():
                    reply.ledger.stamp(name, at_s)
            case _:
                pass

    def milestone(self, reply_id: str, name: Milestone) -> None:
        """A reply in the making reached a milestone; the first time counts."""
        if reply := self._replies.get(reply_id):
            reply.ledger.stamp(name, self._clock())

    def first_token_due_s(self, reply_id: str, budget: LatencyBudget) -> float:
        """When the LLM's first token is due for the turn to stay within its budget.

        A reply to no speech, and a provisional one whose turn is not over, has the LLM's own budget.
        """
        reply = self._replies.get(reply_id)
        spoken_s = reply.turn.stamps.get("speech_end") if reply else None
        if spoken_s is None or budget.total_s is None:
            return self._clock() + budget.stages.get("llm_ttft", 0.0)
        after_s = sum(budget.stages.get(stage, 0.0) for stage in ("fragmenting", "synthesis", "playout"))
        return spoken_s + budget.total_s - after_s

    def first_frame(self, reply_id: str, at_s: float) -> None:
        """The first frame of a reply was handed to the transport."""
        if reply := self._replies.get(reply_id):
            reply.ledger.stamp("first_frame", at_s)

    def played(self, reply_id: str, heard_s: float) -> None:
        """The client has played so much of a reply by now: its first sound was heard so long ago."""
        reply = self._replies.get(reply_id)
        if reply is not None and heard_s > 0:
            reply.ledger.stamp("heard", self._clock() - heard_s)

    def cancelled(self, reply_id: str, pieces: int) -> None:
        """A reply was given up after `pieces` of text; a provisional one generated them for nothing."""
        reply = self._replies.get(reply_id)
        if reply is not None and reply.provisional:
            reply.turn.count(tokens_wasted=pieces)
            del self._replies[reply_id]

    def report(self, ended: tell.TellReplyEnded, budget: LatencyBudget) -> TurnReport | None:
        """The stages of a reply that is over; None where it was not known."""
        reply = self._replies.pop(ended.reply_id, None)
        if reply is None:
            return None
        prompt, cached = ended.usage.prompt_tokens, ended.usage.cached_tokens
        # What a provisional reply had read was read before the turn was over.
        prefilled = 0 if reply.released else prompt - cached
        reply.turn.count(prompt_tokens=prompt, cached_tokens=cached, prefilled_tokens=prefilled)
        outcome: Outcome = "taken_back" if ended.taken_back else _OUTCOMES[ended.status]
        return reply.ledger.report(budget, outcome, reply.turn.counts)

    def _open(self, reply_id: str, turn_id: str, provisional: bool) -> None:
        turn = self._turn(turn_id)
        turn.count(provisional_attempts=int(provisional))
        self._replies[reply_id] = _Reply(TurnLedger(turn_id), turn, provisional)

    def _turn(self, turn_id: str) -> _Turn:
        if turn_id not in self._turns:
            self._turns[turn_id] = _Turn()
            while len(self._turns) > REMEMBERED_TURNS:
                self._turns.popitem(last=False)
        return self._turns[turn_id]
