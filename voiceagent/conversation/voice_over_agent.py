"""A voice over the agent, while it goes on: from the first window that may be one to its end.

What it means is decided in `interruption`; here that is asked at each event, written into the caller's turn,
and turned into commands. Where no response is active, a voice is a turn and nothing is undecided.
"""

from __future__ import annotations

from voiceagent.conversation import events as ev
from voiceagent.conversation import interruption
from voiceagent.conversation.commands import Command
from voiceagent.conversation.interruption import InterruptionPolicy, Meaning
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.settings import TurnDetection
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn, Length
from voiceagent.conversation.turn.nearness import Nearness


class VoiceOverAgent:
    """Follows such a voice. detection: how turns are told now, as the client may change that; None for not at
    all."""

    def __init__(self, policy: InterruptionPolicy, caller: Caller, responses: CurrentResponse) -> None:
        self._policy = policy
        self._caller = caller
        self._responses = responses

    def notice(
        self, event: ev.VoiceNoticed | ev.VoiceFaded, detection: TurnDetection | None
    ) -> list[Command]:
        """What may be a voice came, or went, before it was a turn."""
        response = self._responses.active
        if isinstance(event, ev.VoiceFaded):
            return [interruption.let_go_on()] if response is not None else []
        return self._policy.notice(event, self._caller, response, detection)

    def resumed(self, at_s: float) -> CallerTurn | None:
        """The turn that a voice from `at_s` on goes on with, where it is answered too early."""
        return self._policy.resumed(at_s, self._caller.last, self._responses.active)

    def begin(
        self, turn: CallerTurn, level_db: float | None, detection: TurnDetection | None
    ) -> list[Command] | None:
        """A turn has begun; None where it is not over the agent."""
        response = self._responses.active
        if not interruption.is_candidate(response, detection):
            return None
        turn.level_db = level_db
        turn.nearness = self._policy.nearness(level_db, self._caller.levels, turn.resumes)
        distant = turn.nearness is Nearness.DISTANT
        return [] if distant else interruption.step_back(response, turn.resumes)

    def go_on(
        self,
        turn: CallerTurn,
        event: ev.InterruptionCandidate | ev.InterruptionConfirmed | ev.VoiceLouder,
        detection: TurnDetection | None,
    ) -> list[Command]:
        """It is longer, or louder, than it was."""
        match event:
            case ev.InterruptionCandidate():
                turn.length = Length.CANDIDATE
                return interruption.hold(turn, self._responses.active)
            case ev.InterruptionConfirmed():
                turn.length = Length.CONFIRMED
                return self._long(turn, detection)
            case ev.VoiceLouder(_, level_db):
                return self._louder(turn, level_db, detection)

    def understand(self, turn: CallerTurn, detection: TurnDetection | None) -> list[Command]:
        """Its words have changed."""
        confirmed = not turn.ended and self._policy.confirmed_by_words(turn, self._responses.active)
        return self._interrupt(turn, detection) if confirmed else []

    def meaning(self, turn: CallerTurn) -> Meaning:
        """What it was, once it is over and its words are settled."""
        return self._policy.meaning(turn, self._responses.active)

    def end(self, turn: CallerTurn, meaning: Meaning) -> list[Command]:
        """It was a turn: the agent stops for it, or goes on and answers it later."""
        if meaning is Meaning.INTERRUPTION:
            return self._cut_for(turn)
        return [interruption.let_go_on()] if interruption.is_interruptible(self._responses.active) else []

    def _louder(self, turn: CallerTurn, level_db: float, detection: TurnDetection | None) -> list[Command]:
        """What was taken to come from across the room may be the caller's: what waited for that happens."""
        levels, before = self._caller.levels, turn.nearness
        if before is Nearness.NEAR:
            return []
        turn.level_db = level_db
        now = self._policy.nearness(level_db, levels, turn.resumes)
        silenced = turn.length is Length.CONFIRMED  # the agent was silent for it before
        if now is before or (silenced and now is Nearness.LOW):
            return []
        turn.nearness = now
        response = self._responses.active
        if silenced:  # his telephone lowered him for longer than was thought
            levels.others_db = None
        by_length = interruption.confirmed_by_length(turn, response)
        if by_length or self._policy.confirmed_by_words(turn, response):
            return self._interrupt(turn, detection)
        return interruption.make_up(turn, response)

    def _long(self, turn: CallerTurn, detection: TurnDetection | None) -> list[Command]:
        """It interrupts, or it was low though the agent was silent."""
        response = self._responses.active
        if interruption.confirmed_by_length(turn, response):
            return self._interrupt(turn, detection)
        if turn.level_db is None or not interruption.stayed_low(turn, response):
            return []
        turn.nearness = Nearness.DISTANT
        self._caller.levels.stayed_low(turn.level_db)
        return [interruption.let_go_on()]

    def _interrupt(self, turn: CallerTurn, detection: TurnDetection | None) -> list[Command]:
        """It is meant as an interruption."""
        return self._caller.announce(turn, by_voice=detection is not None) + self._cut_for(turn)

    def _cut_for(self, turn: CallerTurn) -> list[Command]:
        false_end = interruption.is_taken_back(turn)
        return self._responses.stop("turn_detected", false_end=false_end)
