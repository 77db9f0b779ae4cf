"""When a voice has gone on for long enough to be meant as an interruption. Pure; seconds of sound."""

from __future__ import annotations

from audio.speech_events import InterruptionCandidate, InterruptionConfirmed, SpeechEvent

LASTS_S = 0.096
"""Sound that has been loud for this long lasts, if the model thinks that it may be a voice. What was noticed
this long ago lasts from its first voiced chunk on: many voices begin with an "s" or an "f", which no model
hears.
"""
PERHAPS = 0.1
"""From this probability of speech on: in a noisy room the model may be no surer of a voice for 0.4 s."""
_TOLERANCE_S = 1e-6
"""Sums of chunk lengths are compared within a microsecond, so that rounding never costs a chunk."""


class Stretch:
    """The speech since its last break, `from_s`, and which events of its length came in this turn.

    candidate_s, confirmed_s: the lengths after which they come.
    """

    def __init__(self, candidate_s: float, confirmed_s: float) -> None:
        self._candidate_s = candidate_s
        self._confirmed_s = confirmed_s
        self.from_s = 0.0
        self._candidate_reported = self._confirmed_reported = False

    def ended(self) -> None:
        """The turn is over."""
        self._candidate_reported = self._confirmed_reported = False

    def lasts(self, voice_end_s: float) -> list[SpeechEvent]:
        """The sound stays loud behind its last voiced chunk, which counts like a candidate's voice."""
        if self._candidate_reported:
            return []
        self._candidate_reported = True
        return [InterruptionCandidate(voice_end_s)]

    def reached(self, run_from_s: float, now_s: float) -> list[SpeechEvent]:
        """The events that its length brings about now; where it reached that length in a gap, they come with
        the voice behind the gap."""
        if self._confirmed_reported and self._candidate_reported:
            return []
        events: list[SpeechEvent] = []
        candidate_at_s = self.from_s + self._candidate_s
        if not self._candidate_reported and reaches(now_s, candidate_at_s):
            self._candidate_reported = True
            events.append(InterruptionCandidate(min(max(candidate_at_s, run_from_s), now_s)))
        confirmed_at_s = self.from_s + self._confirmed_s
        if not self._confirmed_reported and reaches(now_s, confirmed_at_s):
            self._confirmed_reported = True
            events.append(InterruptionConfirmed(min(max(confirmed_at_s, run_from_s), now_s)))
        return events


def may_be_voice(probability: float, loud_s: float) -> bool:
    """Whether sound that has been loud for so long may be a voice."""
    return reaches(loud_s, LASTS_S) and probability >= PERHAPS


def reaches(seconds: float, wanted_s: float) -> bool:
    """Whether they are as many, within a rounding error."""
    return seconds >= wanted_s - _TOLERANCE_S
