"""Where speech starts, pauses and ends: from speech probabilities and seconds to `speech_events`."""

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
"""A voice goes on as long as the probability of speech is no more than this below the threshold."""
CAP_S = 7.0
"""The most silence that a pause can be told to wait for."""
NOTICE_S = 0.2
"""How long sound that is only loud counts as noticed: a voice may begin with a breath of 0.17 s."""
LOUD_NOTICE_S = 0.8
"""The same for sound that stays loud."""
LINGER_S = 0.25
"""How long, at most, a model of speech still hears a voice that has ended; what it hears longer is low."""
MAX_FADE_S = 0.3
"""How long, at most, a voice fades into the room before it is silent."""
BREAK_S = 0.16
"""A pause of this breaks a voice off; within words it may be silent for 0.1 s, before a "t" or a "k"."""


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """What counts as speech and as a pause in all calls. Raises ValueError for a value out of range.

    start_s: voice without a gap that starts, or after a pause resumes, speech; anything shorter is a blip.
    pause_s: silence that is a pause; a shorter gap is part of speech.
    interruption_candidate_s, interruption_confirmed_s: voice without a break, from where it was noticed,
    after which the event of that name comes; a candidate also where speech is loud for `LASTS_S`.

    Decisions fall on the ends of chunks, except for the end of a silence: that may come between two, when the
    sound behind the last chunk is known to be silent (`silent_for`). Measured with Silero VAD on recorded
    speech, start_s of 0.064 tells a start 70 ms after the voice began (p95 105), 0.032 does 38 (73); the last
    chunk that the model takes for voice ends 54-120 ms after the voice fell 26 dB below its peak, so
    something else tells the end (`fell`); thresholds of 0.3 to 0.8 move either by less than 35 ms.
    """

    start_s: float
    pause_s: float
    interruption_candidate_s: float
    interruption_confirmed_s: float

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_positive(field.name, getattr(self, field.name))


class _Phase(Enum):
    """Where the caller's turn stands."""

    IDLE = auto()
    SPEAKING = auto()  # from SpeechStarted or SpeechResumed to SpeechPaused
    PAUSED = auto()  # from SpeechPaused to SpeechResumed or TurnEnded


_IDLE = _Phase.IDLE  # Python 3.11 looks an attribute of an Enum up by a function, which shows per window


@dataclass(slots=True)
class _Noticed:
    """What may be a voice: from when on, and whether it was told that it lasts."""

    from_s: float
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class _Wait:
    """What a pause waits for. due_s: the silence after which `TurnDue` comes; None where it does not come."""

    silence_s: float
    due_s: float | None = None


class Endpointer:
    """Detector of one caller's turns.

    threshold: probability from which a chunk is voiced; once voiced, chunks stay voiced down to `HYSTERESIS`
    less. silence_s: silence that ends the turn, unless `require` sets another for this pause.
    silence_by_model: measure that silence with `ModelSilence`, and not from the fall of the loudness. Turns
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
        self._model_voiced = False  # the newest chunk, by its probability
        self._voiced = False  # and the voice has not ended for all that
        self._loud_to_s = 0.0  # end of the newest chunk that was voiced both ways
        self._run_from_s = 0.0  # where the newest run of voiced chunks began
        self._phase = _Phase.IDLE
        self._held = False  # the model has heard a voice ever since the pause began
        self._noticed: _Noticed | None = None  # and no speech yet
        self._stretch = Stretch(config.interruption_candidate_s, config.interruption_confirmed_s)
        self._voice_end_s = 0.0  # end of the last chunk voiced in this turn, blips left out
        self._wait = _Wait(silence_s)

    @property
    def now_s(self) -> float:
        """Seconds of sound pushed so far."""
        return self._now_s

    def push(
        self,
        probability: float,
        seconds: float,
        fell: bool = False,
        ended_s: float | None = None,
        loud_s: float = 0.0,
    ) -> list[SpeechEvent]:
        """What the next chunk of sound, `seconds` long and speech with `probability`, brings about.

        fell: the voice has surely ended, which a model of speech says only some time later: such a chunk is
        silence, but a turn ends only where the model says so too. ended_s: where the voice ended, if a pause
        begins with this chunk; no sooner than `MAX_FADE_S` before its last voiced chunk. loud_s: for so long
        the sound has been loud, as `LoudnessRise` has it. Cutting a chunk in two of the same probability
        changes no event.
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
            return self._last(noticed) if may_be_voice(probability, loud_s) else []
        return self._fade(chunk_from_s, blip)

    def notice(self, at_s: float) -> list[SpeechEvent]:
        """Sound grew loud at `at_s`: while the caller is silent, that may be a voice."""
        if not self.idle or self._noticed is not None:
            return []
        self._noticed = _Noticed(at_s)
        return [VoiceNoticed(at_s)]

    def require(self, silence_s: float, more_s: float = 0.0) -> list[SpeechEvent]:
        """Let this pause end the turn after `silence_s` of silence and `more_s`, at most `CAP_S` in all;
        nothing outside a pause.

        Returns the turn's end where that silence is over already. The next pause starts afresh.
        """
        if self._phase is not _Phase.PAUSED:
            return []
        whole_s = min(silence_s + more_s, max(CAP_S, self._silence_s))
        self._wait = _Wait(whole_s, silence_s if more_s else None)
        return self._end_if_due(self._now_s)

    @property
    def due_in_s(self) -> float:
        """Silence that is still missing until this pause makes its turn due or ends it, in seconds.

        inf outside a pause, while the model detects a voice, and with `silence_by_model`.
        """
        if self._phase is not _Phase.PAUSED or self._model_voiced or self._by_model is not None:
            return math.inf
        silence_s = self._wait.silence_s if self._wait.due_s is None else self._wait.due_s
        return self._voice_end_s + silence_s - self._now_s

    def silent_for(self, seconds: float) -> list[SpeechEvent]:
        """What comes of so much silence behind the last chunk; its sound is still to be pushed."""
        return self._end_if_due(self._now_s + seconds)

    def is_voiced(self, probability: float) -> bool:
        """Whether the model takes the next chunk, speech with `probability`, for voice."""
        hysteresis = HYSTERESIS if self._model_voiced else 0.0
        return probability >= self._threshold - hysteresis

    @property
    def speaking(self) -> bool:
        """The caller speaks, and does not pause."""
        return self._phase is _Phase.SPEAKING

    @property
    def idle(self) -> bool:
        """No turn is in progress."""
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
        noticed = self._noticed  # nothing once it is speech
        if noticed is not None and reaches(self._now_s - noticed.from_s, LASTS_S):
            events += self._last(noticed)
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

    def _last(self, noticed: _Noticed) -> list[SpeechEvent]:
        """What is noticed goes on, and is no speech yet."""
        if noticed.lasts:
            return []
        noticed.lasts = True
        return [VoiceNoticed(noticed.from_s, lasts=True)]

    def _loud(self, probability: float, loud_s: float) -> list[SpeechEvent]:
        """Speech goes on to be loud where the model takes it for a voice no more than perhaps."""
        if self.idle or not may_be_voice(probability, loud_s):
            return []
        return self._stretch.lasts(self._voice_end_s)

    def _fade(self, at_s: float, blip: bool) -> list[SpeechEvent]:
        """Forget what was noticed, at once where it was a voice too short for speech."""
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
