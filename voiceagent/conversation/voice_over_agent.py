"""Applies the barge-in policy to a voice over the agent, from its first window to its end.

`interruption` decides; this module asks it at each event, updates the caller's turn and returns commands.
Without an active response, a voice is a turn at once.
"""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import interruption
from voiceagent.conversation.commands import Command
from voiceagent.conversation.interruption import Action, InterruptionPolicy, Meaning, Reaction
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.settings import TurnDetection
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn, VoiceLength
from voiceagent.conversation.turn.proximity import SpeakerProximity
from voiceagent.conversation.turn_policy import CurrentPolicy


class VoiceOverAgent:
    """A voice over the agent. detection: current turn detection, which the client may change; None if off."""

    def __init__(self, policy: CurrentPolicy, caller: Caller, responses: CurrentResponse) -> None:
        self._policy = policy
        self._caller = caller
        self._responses = responses

    @property
    def _interruptions(self) -> InterruptionPolicy:
        return InterruptionPolicy(self._policy.now)

    def on_possible_voice(
        self, event: ev.VoiceNoticed | ev.VoiceFaded, detection: TurnDetection | None
    ) -> list[Command]:
        """Handle the start or end of a possible voice that is not a turn yet."""
        response = self._responses.active
        if isinstance(event, ev.VoiceFaded):
            return [do.RestorePlayout()] if response is not None else []
        return self._interruptions.react_to_possible_voice(event, self._caller, response, detection).commands

    def resumed_turn(self, at_s: float) -> CallerTurn | None:
        """Return the turn that a voice starting at `at_s` resumes, if it was answered too early."""
        return self._interruptions.resumed_turn(at_s, self._caller.last, self._responses.active)

    def on_turn_started(
        self, turn: CallerTurn, level_db: float | None, detection: TurnDetection | None
    ) -> list[Command] | None:
        """Handle the start of a turn. Return None if it is not over the agent."""
        response = self._responses.active
        if not interruption.is_candidate(response, detection):
            return None
        turn.level_db = level_db
        turn.proximity = self._interruptions.proximity(level_db, self._caller.levels, turn.resumes)
        distant = turn.proximity is SpeakerProximity.DISTANT
        return [] if distant else interruption.duck_or_hold(response, turn.resumes).commands

    def on_voice_event(
        self,
        turn: CallerTurn,
        event: ev.InterruptionCandidate | ev.InterruptionConfirmed | ev.VoiceLouder,
        detection: TurnDetection | None,
    ) -> list[Command]:
        """Handle a longer or louder voice."""
        match event:
            case ev.InterruptionCandidate():
                turn.length = VoiceLength.CANDIDATE
                response = self._responses.active
                reaction = self._interruptions.confirm_by_length(turn, response)
                if reaction.action is Action.CUT:
                    return self._interrupt(turn, reaction, detection)
                return interruption.hold(turn, response).commands
            case ev.InterruptionConfirmed():
                turn.length = VoiceLength.CONFIRMED
                return self._on_confirmed_length(turn, detection)
            case ev.VoiceLouder(_, level_db):
                return self._on_louder(turn, level_db, detection)

    def on_transcript(self, turn: CallerTurn, detection: TurnDetection | None) -> list[Command]:
        """Handle a changed transcript."""
        if turn.ended:
            return []
        reaction = self._interruptions.confirm_by_words(turn, self._responses.active)
        return self._interrupt(turn, reaction, detection) if reaction.action is Action.CUT else []

    def is_backchannel(self, turn: CallerTurn) -> bool:
        """Return True if the voice, in a pause, is a backchannel. A resumed turn is not: it may go on."""
        return not turn.announced and turn.resumes is None and self.meaning(turn) is Meaning.BACKCHANNEL

    def meaning(self, turn: CallerTurn) -> Meaning:
        """Classify the voice, once it is over and its transcript is final."""
        return self._interruptions.meaning(turn, self._responses.active)

    def on_turn_over(self, turn: CallerTurn, meaning: Meaning) -> list[Command]:
        """Handle a voice that was a turn: cut the response, or resume it and answer later."""
        if meaning is Meaning.INTERRUPTION:
            return self._cut_for(turn, self._interruptions.judge_words(turn, self._responses.active))
        return [do.RestorePlayout()] if interruption.is_interruptible(self._responses.active) else []

    def _on_louder(self, turn: CallerTurn, level_db: float, detection: TurnDetection | None) -> list[Command]:
        """Apply the reactions that were withheld from a voice that is louder than it seemed."""
        levels, before = self._caller.levels, turn.proximity
        if before is SpeakerProximity.NEAR:
            return []
        turn.level_db = level_db
        now = self._interruptions.proximity(level_db, levels, turn.resumes)
        silenced = turn.length is VoiceLength.CONFIRMED  # the agent was paused before
        if now is before or (silenced and now is SpeakerProximity.LOW):
            return []
        turn.proximity = now
        response = self._responses.active
        if silenced:  # the caller's telephone attenuated for longer than expected
            levels.distant_db = None
        for reaction in (
            self._interruptions.confirm_by_length(turn, response),
            self._interruptions.confirm_by_words(turn, response),
        ):
            if reaction.action is Action.CUT:
                return self._interrupt(turn, reaction, detection)
        return interruption.apply_deferred_hold(turn, response).commands

    def _on_confirmed_length(self, turn: CallerTurn, detection: TurnDetection | None) -> list[Command]:
        """Interrupt, or resume the playout for a voice that stayed low while the agent was silent."""
        response = self._responses.active
        reaction = self._interruptions.confirm_by_length(turn, response)
        if reaction.action is Action.CUT:
            return self._interrupt(turn, reaction, detection)
        if turn.level_db is None or reaction.action is not Action.RESUME:
            return []
        turn.proximity = SpeakerProximity.DISTANT
        self._caller.levels.add_low_voice(turn.level_db)
        return reaction.commands

    def _interrupt(
        self, turn: CallerTurn, reaction: Reaction, detection: TurnDetection | None
    ) -> list[Command]:
        return self._caller.announce(turn, by_voice=detection is not None) + self._cut_for(turn, reaction)

    def _cut_for(self, turn: CallerTurn, reaction: Reaction) -> list[Command]:
        # the response to a false end should not have started: none of it counts as played
        return self._responses.stop(reaction.rule, false_end=turn.resumes is not None)
