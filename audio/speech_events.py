"""Events of a caller's speech: starts, pauses, ends.

Time is the caller's audio so far, never a clock. `at_s` is backdated to the point in the audio: a start to
the beginning of its first voiced chunk, a pause or an end to the end of the last voiced one. The events of
one turn come in this order:

    (VoiceNoticed VoiceFaded)* VoiceNoticed SpeechStarted (SpeechPaused SpeechResumed)* SpeechPaused TurnEnded

- `VoiceNoticed` is repeated once if the sound lasts.
- `InterruptionCandidate`, then `InterruptionConfirmed` come while the caller speaks, at most once each; the
  former also while the caller is only loud.
- `TurnDue` comes at most once in a pause, if the pause lasts longer than its silence.
- Levels and `VoiceLouder` are added by the code that measures the loudness.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VoiceNoticed:
    """A sound that may be a voice began while the caller was silent, backdated to its first sample.

    level_db: level of its loudest window so far, in dBFS; None if not measured. lasts: repeated because it
    stays loud.
    """

    at_s: float
    level_db: float | None = None
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class VoiceFaded:
    """The noticed sound was too short for speech, or no voice; backdated to its last sample."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak, backdated to the first voiced sample. level_db: as in `VoiceNoticed`."""

    at_s: float
    level_db: float | None = None


@dataclass(frozen=True, slots=True)
class VoiceLouder:
    """Overlapping speech has become louder than reported before. level_db: as in `VoiceNoticed`."""

    at_s: float
    level_db: float


@dataclass(frozen=True, slots=True)
class InterruptionCandidate:
    """The caller has spoken long enough for the agent to pause and listen."""

    at_s: float


@dataclass(frozen=True, slots=True)
class InterruptionConfirmed:
    """The caller has spoken long enough to mean an interruption, whatever the words."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """The caller paused, backdated to the last voiced sample."""

    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The caller resumed before the turn ended, backdated."""

    at_s: float


@dataclass(frozen=True, slots=True)
class TurnDue:
    """The default silence has passed, but the pause was extended; backdated to the last voiced sample."""

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
