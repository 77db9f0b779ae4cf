"""Where the voice in a recording begins and ends, by its energy: a second opinion on the detector. Pure."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.pcm import Samples

WINDOW_S = 0.01
BELOW_PEAK_DB = 26.0
"""A window so far below the loudest one is not voice: the noise of a room, the echo of a word."""
EARLY_S = 0.05
"""A turn that is decided so shortly before its voice ends is not cut off: the end is known no better."""
ONSET_BELOW_PEAK_DB = 20.0
ONSET_WINDOWS = 3
"""A voice begins with so many windows in a row that are nearer to the loudest one: a breath, a click or the
noise of the room before it are not the voice."""


def voice_start_s(samples: Samples, rate_hz: int) -> float:
    """Seconds from the start of `samples` [n] to the beginning of the voice; 0.0 where there is none."""
    loud = _louder(samples, rate_hz, ONSET_BELOW_PEAK_DB)
    if len(loud) < ONSET_WINDOWS:
        return 0.0
    runs = sliding_window_view(loud, ONSET_WINDOWS).all(axis=1)
    return float(runs.argmax()) * WINDOW_S


def voice_end_s(samples: Samples, rate_hz: int, below_peak_db: float = BELOW_PEAK_DB) -> float:
    """Seconds from the start of `samples` [n] to the end of the last window with voice; 0.0 for silence."""
    voiced = np.flatnonzero(_louder(samples, rate_hz, below_peak_db))
    return 0.0 if len(voiced) == 0 else float(voiced[-1] + 1) * WINDOW_S


def trimmed(samples: Samples, rate_hz: int) -> Samples:
    """The samples [n] from the beginning of the voice to its end."""
    begin, end = voice_start_s(samples, rate_hz), voice_end_s(samples, rate_hz)
    return samples[round(begin * rate_hz) : round(end * rate_hz)]


def _louder(samples: Samples, rate_hz: int, below_peak_db: float) -> NDArray[np.bool_]:
    """Whether each window is less than `below_peak_db` below the loudest one."""
    length = round(WINDOW_S * rate_hz)
    windows = samples[: len(samples) // length * length].astype(np.float64).reshape(-1, length)
    if windows.size == 0:
        return np.zeros(0, np.bool_)
    energy = np.mean(windows**2, axis=1)
    louder: NDArray[np.bool_] = energy > energy.max() * 10 ** (-below_peak_db / 10)
    return louder
