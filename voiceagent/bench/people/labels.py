"""Where a person's voice ends in a recording: by its energy, up to where a model hears a voice at all."""

from __future__ import annotations

from functools import cache

from audio.pcm import Samples
from audio.resample import resample
from audio.vad import SAMPLE_RATE_HZ, SileroVad
from audio.voiced_spans import voiced_spans
from voiceagent.bench.voiced import voice_end_s

BELOW_PEAK_DB = 20.0
"""The last 10 ms so near to the loudest are the last voiced ones."""
NOISE_AFTER_S = 0.15
"""What is loud so long after the model heard a voice is a click, a breath or the noise of a room."""


def last_voiced_s(sound: Samples, rate_hz: int) -> float:
    """Seconds from the start of `sound` [n] to its last voiced sample; 0.0 where there is none.

    Raises VadError.
    """
    by_energy_s = voice_end_s(sound, rate_hz, BELOW_PEAK_DB)
    spans = voiced_spans(resample(sound, rate_hz, SAMPLE_RATE_HZ), _vad())
    if not spans:
        return by_energy_s
    by_model_s = spans[-1][1] / SAMPLE_RATE_HZ
    if by_energy_s <= by_model_s + NOISE_AFTER_S:
        return by_energy_s
    return voice_end_s(sound[: round((by_model_s + NOISE_AFTER_S) * rate_hz)], rate_hz, BELOW_PEAK_DB)


@cache
def _vad() -> SileroVad:
    vad = SileroVad()
    vad.load()
    return vad
