"""Decides when the agent shows that it listens, with a short backchannel ("mhm") in a pause of the caller.

Listeners do so a few times a minute, at pauses that end no turn: Yngve, "On getting a word in edgewise"
(1970); Ward and Tsukahara, "Prosodic features which cue back-channel responses in English and Japanese",
Journal of Pragmatics 32 (2000).
"""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn.dictation import announces_dictation, may_be_dictated
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.turn.caller_turn import CallerTurn, Paused

MAX_PROBABILITY = 0.1
"""Largest probability of the turn's end: the caller will surely continue."""
MIN_SPEECH_S = 3.0
"""Least time from a turn's start to its first backchannel: listeners respond to thoughts, not first words."""
MIN_GAP_S = 5.0
"""Least time between two backchannels, which is at most twelve a minute."""
MIN_WORDS = 5
"""Least words of the turn so far: noise has none."""
MIN_PAUSE_S = 0.7
"""Least length of a pause with a backchannel. Of 64 pauses of people, those of the tuning set, 55 per cent of
those that had lasted 0.3 s were over 0.4 s later, and 17 per cent of those that had lasted 0.7 s: by then the
pauses for a breath are over.
"""
PHRASE_S = 0.5
"""Length of a backchannel: the turn must not end meanwhile."""


class Backchannels:
    """Backchannels of one call. Positions are seconds of the caller's audio. language: an ISO 639 code.
    after_s: length of a pause from which one may begin, see `TurnPolicy.backchannel_after_s`.
    """

    def __init__(self, language: str, after_s: float = MIN_PAUSE_S) -> None:
        self._language, self._after_s = language, after_s
        self._count = 0
        self._last_s = self._before_s = -MIN_GAP_S  # pauses of the newest backchannel, and of the one before
        self._pause_s: float | None = None  # of the pause with the backchannel that waits, or may be playing

    def on_pause(self, turn: CallerTurn, decision: EndOfTurn) -> list[Command]:
        """Return a backchannel if this pause suits one, or stop it if that is not so any more. decision: on
        the end of the turn.
        """
        if not isinstance(turn.phase, Paused):
            return []
        at_s = turn.phase.at_s
        if at_s == self._pause_s:
            return [] if self._is_long(decision) else self.on_turn_ended(at_s)
        if not suits(turn, decision, at_s - self._last_s) or not self._is_long(decision):
            return []
        if self._may_dictate(turn.whole_text):  # it would fall over the next digit
            return []
        self._before_s, self._last_s, self._pause_s = self._last_s, at_s, at_s
        self._count += 1
        return [do.PlayBackchannel(self._count, at_s + self._after_s if self._after_s else 0.0)]

    def on_speech(self, at_s: float) -> list[Command]:
        """Stop the backchannel when the caller continues, at `at_s`: it must not fall over a word."""
        pause_s, self._pause_s = self._pause_s, None
        if pause_s is None:
            return []
        if self._after_s and at_s < pause_s + self._after_s:  # it was not played, so another may be soon
            self._last_s = self._before_s
        return [do.StopBackchannel()]

    def on_turn_ended(self, at_s: float) -> list[Command]:
        """Stop the backchannel at the end of its turn: an answer follows. at_s: the last voiced sample."""
        return self.on_speech(at_s) if self._after_s else []

    def _may_dictate(self, text: str) -> bool:
        announced = self._after_s and announces_dictation(text, language_of(self._language))
        return bool(announced) or may_be_dictated(text, self._language)

    def _is_long(self, decision: EndOfTurn) -> bool:
        """Return True if the pause may last until a backchannel in it is over."""
        return not self._after_s or decision.silence_s >= self._after_s + PHRASE_S


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
