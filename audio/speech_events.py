"""What a caller's voice does: where it starts, pauses and ends.

Time is the caller's sound so far, never a clock. Every event's `at_s` is backdated to where it happened in
the sound: a start to the beginning of its first voiced chunk, a pause or an end to the end of the last voiced
one. The events of one turn come in this order:

    (VoiceNoticed VoiceFaded)* VoiceNoticed SpeechStarted (SpeechPaused SpeechResumed)* SpeechPaused TurnEnded

- `VoiceNoticed` comes twice where it lasts.
- `InterruptionCandidate` and then `InterruptionConfirmed` come while the caller speaks, at most once each;
  the former also while he is only loud.
- `TurnDue` comes at most once in a pause, where that goes on for longer than its silence.
- Levels and `VoiceLouder` are added by whoever measures the loudness.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VoiceNoticed:
    """Something that may be a voice, or only loud, began while the caller was silent, backdated to its first
    sample. It comes again, with `lasts`, where it goes on to be loud.

    level_db: of its loudest window so far, in decibels of full scale; None where that is not told.
    """

    at_s: float
    level_db: float | None = None
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class VoiceFaded:
    """What was noticed was too short for speech, or no voice; backdated to its last sample."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak, backdated to the first voiced sample. level_db: as in `VoiceNoticed`."""

    at_s: float
    level_db: float | None = None


@dataclass(frozen=True, slots=True)
class VoiceLouder:
    """A voice over the agent is louder than was told of it before. level_db: as in `VoiceNoticed`."""

    at_s: float
    level_db: float


@dataclass(frozen=True, slots=True)
class InterruptionCandidate:
    """The caller's voice has gone on long enough for a speaker to hold on and listen."""

    at_s: float


@dataclass(frozen=True, slots=True)
class InterruptionConfirmed:
    """The caller's voice has gone on long enough to be meant as an interruption, whatever it says."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """The caller fell silent for a moment, backdated to the last voiced sample."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The caller went on speaking before the turn was over, backdated."""

    at_s: float


@dataclass(frozen=True, slots=True)
class TurnDue:
    """The silence that ends the turn is over, but the pause was told to go on for longer than that; backdated
    to the last voiced sample.
    """

    at_s: float


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The end of the caller's turn, backdated to the last voiced sample.

    level_db: level of the turn's voice in dBFS; None if it is not measured, or the voice was too short.
    silent_to_s: end of the silence that ended the turn; None if not known.
    """

    at_s: float
    level_db: float | None = None
    silent_to_s: float | None = None


SpeechEvent = (
    VoiceNoticed
    | VoiceFaded
    | SpeechStarted
    | VoiceLouder
    | InterruptionCandidate
    | InterruptionConfirmed
    | SpeechPaused
    | SpeechResumed
    | TurnDue
    | TurnEnded
)
