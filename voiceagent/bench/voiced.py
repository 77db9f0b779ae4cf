"""Start and end of the voice in a recording, by its energy: independent of the detector."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.pcm import Samples

WINDOW_S = 0.01
BELOW_PEAK_DB = 26.0
"""A window this far below the loudest is not voice, but noise or reverberation."""
EARLY_S = 0.05
"""A turn decided less than this before its voice ends is not cut off: the label is no more accurate."""
ONSET_BELOW_PEAK_DB = 20.0
ONSET_WINDOWS = 3
"""A voice begins with this many consecutive windows near the peak: breaths, clicks and noise do not count."""


def voice_start_s(samples: Samples, rate_hz: int) -> float:
    """Return the start of the voice in `samples` [n] in seconds; 0.0 if there is none."""
    loud = _louder(samples, rate_hz, ONSET_BELOW_PEAK_DB)
    if len(loud) < ONSET_WINDOWS:
        return 0.0
    runs = sliding_window_view(loud, ONSET_WINDOWS).all(axis=1)
    return float(runs.argmax()) * WINDOW_S


def voice_end_s(samples: Samples, rate_hz: int, below_peak_db: float = BELOW_PEAK_DB) -> float:
    """Return the end of the last voiced window of `samples` [n] in seconds; 0.0 for silence."""
    voiced = np.flatnonzero(_louder(samples, rate_hz, below_peak_db))
    return 0.0 if len(voiced) == 0 else float(voiced[-1] + 1) * WINDOW_S


def trimmed(samples: Samples, rate_hz: int) -> Samples:
    """Return the samples [n] from the start of the voice to its end."""
    begin, end = voice_start_s(samples, rate_hz), voice_end_s(samples, rate_hz)
    return samples[round(begin * rate_hz) : round(end * rate_hz)]


def _louder(samples: Samples, rate_hz: int, below_peak_db: float) -> NDArray[np.bool_]:
    """Return which windows are less than `below_peak_db` below the loudest one."""
    length = round(WINDOW_S * rate_hz)
    windows = samples[: len(samples) // length * length].astype(np.float64).reshape(-1, length)
    if windows.size == 0:
        return np.zeros(0, np.bool_)
    energy = np.mean(windows**2, axis=1)
    louder: NDArray[np.bool_] = energy > energy.max() * 10 ** (-below_peak_db / 10)
    return louder
