"""Endpointing: turns speech probabilities per chunk of audio into `speech_events`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import Enum, auto

from audio.interruption import LASTS_S, Stretch, may_be_voice, reaches
from audio.model_silence import ModelSilence
from audio.speech_events import (
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnDue,
    TurnEnded,
    VoiceFaded,
    VoiceNoticed,
)

HYSTERESIS = 0.15
"""Speech continues while the probability is at most this much below the threshold."""
CAP_S = 7.0
"""Maximum endpointing delay of a pause."""
NOTICE_S = 0.2
"""Time for which a merely loud sound stays noticed: a voice may begin with a breath of 0.17 s."""
LOUD_NOTICE_S = 0.8
"""The same for a sound that stays loud."""
LINGER_S = 0.25
"""Maximum time for which a voice activity model detects a voice that has ended; longer is a quiet voice."""
MAX_FADE_S = 0.3
"""Maximum time in which a voice fades into its reverberation."""
BREAK_S = 0.16
"""A gap of this length interrupts a voice; inside words it may be silent for 0.1 s, before a "t" or a "k"."""


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """Durations that define speech and pauses in all calls. Raises ValueError for a value out of range.

    start_s: voice without a gap that starts or resumes speech; anything shorter is a blip. pause_s: silence
    that is a pause; a shorter gap is part of speech. interruption_candidate_s, interruption_confirmed_s:
    voice without a break, from where it was noticed, after which that event is emitted; a candidate also if
    speech is loud for `LASTS_S`.

    Decisions fall on the ends of chunks, except for the end of a silence: that may come between two, if the
    audio after the last chunk is known to be silent (`silent_for`). Measured with Silero VAD on recorded
    speech: start_s of 0.064 detects a start 70 ms after the voice began (p95 105), 0.032 does 38 (73); the
    last chunk that the model detects as voice ends 54-120 ms after the voice fell 26 dB below its peak, so
    the end is detected by loudness (`fell`); thresholds of 0.3 to 0.8 move either by less than 35 ms.
    """

    start_s: float
    pause_s: float
    interruption_candidate_s: float
    interruption_confirmed_s: float

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_positive(field.name, getattr(self, field.name))


class _Phase(Enum):
    """State of the caller's turn."""

    IDLE = auto()
    SPEAKING = auto()  # from SpeechStarted or SpeechResumed to SpeechPaused
    PAUSED = auto()  # from SpeechPaused to SpeechResumed or TurnEnded


_IDLE = _Phase.IDLE  # Python 3.11 looks an attribute of an Enum up by a function, which shows per window


@dataclass(slots=True)
class _Noticed:
    """Sound that may be a voice. lasts: whether `VoiceNoticed` was repeated because it stayed loud."""

    from_s: float
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class _Wait:
    """Endpointing delay of a pause. due_s: silence after which `TurnDue` is emitted; None if it is not."""

    silence_s: float
    due_s: float | None = None


class Endpointer:
    """Turn detector of one call.

    threshold: probability from which a chunk is voiced; once voiced, chunks stay voiced down to `HYSTERESIS`
    less. silence_s: silence that ends the turn, unless `require` sets another for this pause.
    silence_by_model: measure that silence with `ModelSilence` instead of from the fall of the loudness. Turns
    end 50 to 200 ms later, but survive a dip between two words. Raises ValueError for a value out of range.

    A blip inside a pause neither resumes speech nor restarts the pause: once it proves too short, its time
    counts as silence. While it may still become speech no turn is ended, which costs at most `start_s`.
    """

    def __init__(
        self, config: EndpointConfig, threshold: float, silence_s: float, silence_by_model: bool = False
    ) -> None:
        if not 0.0 < threshold < 1.0:
            raise ValueError(f"threshold is {threshold}; it must lie between 0 and 1")
        _check_positive("silence_s", silence_s)
        self._config = config
        self._threshold = threshold
        self._silence_s = silence_s
        self._by_model = ModelSilence(threshold - HYSTERESIS) if silence_by_model else None
        self._now_s = 0.0
        self._model_voiced = False  # the model's decision on the newest chunk
        self._voiced = False  # the same, and the loudness has not fallen
        self._loud_to_s = 0.0  # end of the newest chunk voiced by model and loudness
        self._run_from_s = 0.0  # start of the newest run of voiced chunks
        self._phase = _Phase.IDLE
        self._held = False  # the model has detected a voice since the pause began
        self._noticed: _Noticed | None = None  # None once it is speech
        self._stretch = Stretch(config.interruption_candidate_s, config.interruption_confirmed_s)
        self._voice_end_s = 0.0  # end of this turn's last voiced chunk, without blips
        self._wait = _Wait(silence_s)

    @property
    def now_s(self) -> float:
        """Seconds of audio pushed so far."""
        return self._now_s

    def push(
        self,
        probability: float,
        seconds: float,
        fell: bool = False,
        ended_s: float | None = None,
        loud_s: float = 0.0,
    ) -> list[SpeechEvent]:
        """Process the next chunk of audio, `seconds` long and speech with `probability`, and return its
        events.

        fell: the loudness shows that the voice has ended, which the model detects later: the chunk counts as
        silence, but a turn ends only once the model agrees. ended_s: end of the voice, if a pause begins with
        this chunk; at most `MAX_FADE_S` before its last voiced chunk. loud_s: seconds for which the audio has
        been loud, from `LoudnessRise`. Splitting a chunk into two of the same probability changes no event.
        """
        chunk_from_s, idle = self._now_s, self._phase is _IDLE
        self._now_s += seconds
        self._model_voiced = voiced = self.is_voiced(probability)
        if self._by_model is not None:
            self._by_model.push(probability, voiced, self._now_s)
        if voiced and not fell:
            self._loud_to_s = self._now_s
        lingers = fell and not idle and self._now_s - self._loud_to_s <= LINGER_S
        if voiced and not lingers:
            return self._voiced_chunk(chunk_from_s)
        self._held = self._held and voiced
        blip, self._voiced = self._voiced, False
        if not idle:
            return self._silence(ended_s) + self._loud(probability, loud_s)
        noticed = self._noticed
        if noticed is None:
            return []
        if loud_s > 0.0 and self._now_s - noticed.from_s < LOUD_NOTICE_S:
            return self._notice_again(noticed) if may_be_voice(probability, loud_s) else []
        return self._fade(chunk_from_s, blip)

    def notice(self, at_s: float) -> list[SpeechEvent]:
        """Process a rise in loudness at `at_s`, which may be a voice if the caller is silent."""
        if not self.idle or self._noticed is not None:
            return []
        self._noticed = _Noticed(at_s)
        return [VoiceNoticed(at_s)]

    def require(self, silence_s: float, more_s: float = 0.0) -> list[SpeechEvent]:
        """Set this pause's endpointing delay to `silence_s` + `more_s`, at most `CAP_S`; no effect outside a
        pause.

        `TurnDue` is emitted after `silence_s` if `more_s` is not 0. Returns the end of the turn if the
        silence has lasted long enough already. The next pause uses the default again.
        """
        if self._phase is not _Phase.PAUSED:
            return []
        whole_s = min(silence_s + more_s, max(CAP_S, self._silence_s))
        self._wait = _Wait(whole_s, silence_s if more_s else None)
        return self._end_if_due(self._now_s)

    @property
    def due_in_s(self) -> float:
        """Silence still missing before this pause emits `TurnDue` or ends the turn, in seconds.

        inf outside a pause, while the model detects a voice, and with `silence_by_model`.
        """
        if self._phase is not _Phase.PAUSED or self._model_voiced or self._by_model is not None:
            return math.inf
        silence_s = self._wait.silence_s if self._wait.due_s is None else self._wait.due_s
        return self._voice_end_s + silence_s - self._now_s

    def silent_for(self, seconds: float) -> list[SpeechEvent]:
        """Return the events of `seconds` of silence after the last chunk; its audio is pushed later."""
        return self._end_if_due(self._now_s + seconds)

    def is_voiced(self, probability: float) -> bool:
        """Return True if the model considers a next chunk of this probability voiced."""
        hysteresis = HYSTERESIS if self._model_voiced else 0.0
        return probability >= self._threshold - hysteresis

    @property
    def speaking(self) -> bool:
        """True while the caller speaks without a pause."""
        return self._phase is _Phase.SPEAKING

    @property
    def idle(self) -> bool:
        """True if no turn is in progress."""
        return self._phase is _IDLE

    @property
    def awaits_silence(self) -> bool:
        """True if silence may end something: a turn in progress, or noise that may become one."""
        return not self.idle or self._noticed is not None

    def _voiced_chunk(self, from_s: float) -> list[SpeechEvent]:
        events: list[SpeechEvent] = []
        if not self._voiced:
            self._voiced = True
            self._run_from_s = from_s
            events += self.notice(from_s)
        events += self._voice()
        noticed = self._noticed  # None once it is speech
        if noticed is not None and reaches(self._now_s - noticed.from_s, LASTS_S):
            events += self._notice_again(noticed)
        return events

    def _voice(self) -> list[SpeechEvent]:
        events: list[SpeechEvent] = []
        if self._phase is not _Phase.SPEAKING:
            if not self._held and not reaches(self._now_s - self._run_from_s, self._config.start_s):
                return []
            begins = SpeechStarted if self.idle else SpeechResumed
            events.append(begins(self._run_from_s))
            if self.idle:
                noticed_from_s = self._run_from_s if self._noticed is None else self._noticed.from_s
                self._stretch.from_s = min(self._run_from_s, noticed_from_s)
            elif reaches(self._run_from_s - self._voice_end_s, BREAK_S):
                self._stretch.from_s = self._run_from_s
            self._phase = _Phase.SPEAKING
            self._wait, self._noticed = _Wait(self._silence_s), None
        self._voice_end_s = self._now_s
        return events + self._stretch.reached(self._run_from_s, self._now_s)

    def _notice_again(self, noticed: _Noticed) -> list[SpeechEvent]:
        """Emit `VoiceNoticed` again, once, for a candidate that stays loud."""
        if noticed.lasts:
            return []
        noticed.lasts = True
        return [VoiceNoticed(noticed.from_s, lasts=True)]

    def _loud(self, probability: float, loud_s: float) -> list[SpeechEvent]:
        """Emit an interruption candidate if speech stays loud while the model is unsure of the voice."""
        if self.idle or not may_be_voice(probability, loud_s):
            return []
        return self._stretch.lasts(self._voice_end_s)

    def _fade(self, at_s: float, blip: bool) -> list[SpeechEvent]:
        """Forget the noticed sound: at once if it was a blip, else after `NOTICE_S`."""
        noticed = self._noticed
        if noticed is None or not (blip or reaches(self._now_s - noticed.from_s, NOTICE_S)):
            return []
        self._noticed = None
        return [VoiceFaded(at_s)]

    def _silence(self, ended_s: float | None) -> list[SpeechEvent]:
        events: list[SpeechEvent] = []
        if self._phase is _Phase.SPEAKING and reaches(self._now_s - self._voice_end_s, self._config.pause_s):
            self._phase, self._held = _Phase.PAUSED, self._model_voiced
            if ended_s is not None:
                self._voice_end_s = min(self._voice_end_s, max(ended_s, self._voice_end_s - MAX_FADE_S))
            events.append(SpeechPaused(self._voice_end_s))
        return events + self._end_if_due(self._now_s)

    def _end_if_due(self, silent_to_s: float) -> list[SpeechEvent]:
        if self._phase is not _Phase.PAUSED or self._model_voiced:
            return []
        silent_s = silent_to_s - self._voice_end_s
        if self._by_model is not None:
            silent_s = self._by_model.until(silent_to_s)
        if reaches(silent_s, self._wait.silence_s):
            self._phase, self._held, self._wait = _Phase.IDLE, False, _Wait(self._silence_s)
            self._stretch.ended()
            return [TurnEnded(self._voice_end_s, silent_to_s=silent_to_s)]
        if self._wait.due_s is None or not reaches(silent_s, self._wait.due_s):
            return []
        self._wait = _Wait(self._wait.silence_s)
        return [TurnDue(self._voice_end_s)]


def _check_positive(name: str, seconds: float) -> None:
    if not seconds > 0.0:
        raise ValueError(f"{name} is {seconds}; it must be more than 0 seconds")
