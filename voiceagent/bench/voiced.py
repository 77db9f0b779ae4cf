"""Where the voice in a recording begins and ends, by its energy: a second opinion on the detector. Pure."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples

WINDOW_S = 0.01
BELOW_PEAK_DB = 26.0
"""A window so far below the loudest one is not voice: the noise of a room, the echo of a word."""


def voice_start_s(samples: Samples, rate_hz: int) -> float:
    """Seconds from the start of `samples` [n] to the first window with voice; 0.0 for silence."""
    voiced = _voiced_windows(samples, rate_hz)
    return 0.0 if len(voiced) == 0 else float(voiced[0]) * WINDOW_S


def voice_end_s(samples: Samples, rate_hz: int) -> float:
    """Seconds from the start of `samples` [n] to the end of the last window with voice; 0.0 for silence."""
    voiced = _voiced_windows(samples, rate_hz)
    return 0.0 if len(voiced) == 0 else float(voiced[-1] + 1) * WINDOW_S


def trimmed(samples: Samples, rate_hz: int) -> Samples:
    """The samples from the first window with voice to the last."""
    begin, end = voice_start_s(samples, rate_hz), voice_end_s(samples, rate_hz)
    return samples[round(begin * rate_hz) : round(end * rate_hz)]


def _voiced_windows(samples: Samples, rate_hz: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Indices of the windows with voice, ascending."""
    length = round(WINDOW_S * rate_hz)
    windows = samples[: len(samples) // length * length].astype(np.float64).reshape(-1, length)
    if windows.size == 0:
        return np.zeros(0, np.intp)
    energy = np.mean(windows**2, axis=1)
    return np.flatnonzero(energy > energy.max() * 10 ** (-BELOW_PEAK_DB / 10))
