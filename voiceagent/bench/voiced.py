"""Where the voice in a recording ends, by its energy alone: a second opinion on the detector. Pure."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples

WINDOW_S = 0.01
BELOW_PEAK_DB = 26.0
"""A window so far below the loudest one is not voice: the noise of a room, the echo of a word."""


def voice_end_s(samples: Samples, rate_hz: int) -> float:
    """Seconds from the start of `samples` [n] to the end of the last window with voice; 0.0 for silence."""
    length = round(WINDOW_S * rate_hz)
    windows = samples[: len(samples) // length * length].astype(np.float64).reshape(-1, length)
    if windows.size == 0:
        return 0.0
    energy = np.mean(windows**2, axis=1)
    voiced = np.flatnonzero(energy > energy.max() * 10 ** (-BELOW_PEAK_DB / 10))
    return 0.0 if len(voiced) == 0 else float(voiced[-1] + 1) * WINDOW_S
