"""Where a person's voice ends in a recording: by its energy, up to where a model hears a voice at all."""

from __future__ import annotations

from functools import cache

import numpy as np

from audio.pcm import Samples
from audio.resample import resample
from audio.silero_graph import INPUT_SAMPLES, STATE
from audio.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad
from voiceagent.bench.voiced import voice_end_s

BELOW_PEAK_DB = 20.0
"""The last 10 ms so near to the loudest are the last voiced ones."""
NOISE_AFTER_S = 0.2
"""What is loud so long after the model heard a voice is a click, a breath or the noise of a room."""
_THRESHOLD = 0.5
_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES


def last_voiced_s(sound: Samples, rate_hz: int) -> float:
    """Seconds from the start of `sound` [n] to its last voiced sample; 0.0 where there is none.

    Raises VadError.
    """
    by_energy_s = voice_end_s(sound, rate_hz, BELOW_PEAK_DB)
    by_model_s = _voice_model_s(resample(sound, rate_hz, SAMPLE_RATE_HZ))
    if not by_model_s or by_energy_s <= by_model_s + NOISE_AFTER_S:
        return by_energy_s
    return voice_end_s(sound[: round(by_model_s * rate_hz)], rate_hz, BELOW_PEAK_DB)


def _voice_model_s(sound: Samples) -> float:
    """The end of the last window of `sound` [n], 16 kHz, that the model takes for a voice."""
    vad = _vad()
    whole = -(-len(sound) // WINDOW_SAMPLES)
    padded = np.zeros(_CONTEXT_SAMPLES + whole * WINDOW_SAMPLES, np.float32)
    padded[_CONTEXT_SAMPLES : _CONTEXT_SAMPLES + len(sound)] = sound / np.float32(32_768)
    state, last = np.zeros((2, 1, STATE), np.float32), 0
    for window in range(whole):
        begin = window * WINDOW_SAMPLES
        probability, state = vad.run(padded[np.newaxis, begin : begin + INPUT_SAMPLES], state)
        if probability[0] >= _THRESHOLD:
            last = window + 1
    return last * WINDOW_SAMPLES / SAMPLE_RATE_HZ


@cache
def _vad() -> SileroVad:
    vad = SileroVad()
    vad.load()
    return vad
