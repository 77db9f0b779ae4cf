"""Lengths of overlapping speech that make it an interruption. Times are seconds of audio."""

from __future__ import annotations

from audio.speech_events import InterruptionCandidate, InterruptionConfirmed, SpeechEvent

LASTS_S = 0.096
"""A sound that has been loud for this long is lasting, if the model considers a voice possible. A sound
noticed this long ago is lasting from its first voiced chunk: many voices begin with an "s" or an "f", which
no model detects.
"""
PERHAPS = 0.1
"""Probability from which a voice is possible: in a noisy room the model may be no surer for 0.4 s."""
_TOLERANCE_S = 1e-6
"""Sums of chunk lengths are compared within a microsecond, so that rounding never costs a chunk."""


class Stretch:
    """Continuous speech since the last break, at `from_s`, and the events already emitted for it in this
    turn.

    candidate_s, confirmed_s: lengths after which they are emitted.
    """

    def __init__(self, candidate_s: float, confirmed_s: float) -> None:
        self._candidate_s = candidate_s
        self._confirmed_s = confirmed_s
        self.from_s = 0.0
        self._candidate_reported = self._confirmed_reported = False

    def ended(self) -> None:
        """Reset for the next turn."""
        self._candidate_reported = self._confirmed_reported = False

    def lasts(self, voice_end_s: float) -> list[SpeechEvent]:
        """Return a candidate for speech that stays loud after its last voiced chunk."""
        if self._candidate_reported:
            return []
        self._candidate_reported = True
        return [InterruptionCandidate(voice_end_s)]

    def reached(self, run_from_s: float, now_s: float) -> list[SpeechEvent]:
        """Return the events due at the current length.

        A length that was reached in a gap is reported with the voice after the gap.
        """
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
    """Return True if sound that has been loud for `loud_s` may be a voice."""
    return reaches(loud_s, LASTS_S) and probability >= PERHAPS


def reaches(seconds: float, wanted_s: float) -> bool:
    """Return True if `seconds` is at least `wanted_s`, within a rounding error."""
    return seconds >= wanted_s - _TOLERANCE_S
