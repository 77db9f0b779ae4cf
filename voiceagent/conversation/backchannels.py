"""Decides when the agent shows that it listens, with a short backchannel ("mhm") in a pause of the caller.

Listeners do so a few times a minute, at pauses that end no turn: Yngve, "On getting a word in edgewise"
(1970); Ward and Tsukahara, "Prosodic features which cue back-channel responses in English and Japanese",
Journal of Pragmatics 32 (2000).
"""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn.dictation import may_be_dictated
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.turn.caller_turn import CallerTurn, Paused

MAX_PROBABILITY = 0.1
"""Largest probability of the turn's end: the caller will surely continue."""
MIN_SPEECH_S = 3.0
"""Least time from the turn's beginning to its first backchannel: a listener responds to a thought, not to its
first words.
"""
MIN_GAP_S = 5.0
"""Least time between two backchannels, which is at most twelve a minute."""
MIN_WORDS = 5
"""Least words of the turn so far: noise has none."""


class Backchannels:
    """Backchannels of one call. Positions are seconds of the caller's audio. language: an ISO 639 code."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._count = 0
        self._last_s = -MIN_GAP_S
        self._pause_s: float | None = None  # of the pause with the backchannel that may be playing

    def on_pause(self, turn: CallerTurn, decision: EndOfTurn) -> list[Command]:
        """Return a backchannel if this pause suits one. decision: on the end of the turn."""
        if not isinstance(turn.phase, Paused) or not suits(turn, decision, turn.phase.at_s - self._last_s):
            return []
        if may_be_dictated(turn.whole_text, self._language):  # it would fall over the next digit
            return []
        self._last_s = self._pause_s = turn.phase.at_s
        self._count += 1
        return [do.PlayBackchannel(self._count)]

    def on_speech(self) -> list[Command]:
        """Stop the backchannel when the caller continues: it must not fall over a word."""
        playing, self._pause_s = self._pause_s, None
        return [] if playing is None else [do.StopBackchannel()]


def suits(turn: CallerTurn, decision: EndOfTurn, since_last_s: float) -> bool:
    """Return True if the pause in progress suits a backchannel. since_last_s: since the last one's pause."""
    return (
        turn.announced
        and decision.rule == "probability"
        and decision.probability <= MAX_PROBABILITY
        and turn.voiced_s >= MIN_SPEECH_S
        and since_last_s >= MIN_GAP_S
        and len(turn.whole_words) >= MIN_WORDS
    )
