"""Where a long sound is cut so that no word is."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ

_EARLIEST_S = 5
_LATEST_S = 9
_STEP_S = 0.02
_QUIET_STEPS = 10


def quiet_cuts(sound: Samples) -> list[int]:
    """The samples where `sound`, 16 kHz, falls into pieces of 5 to 9 s.

    Each cut is in the middle of the quietest 0.2 s there. More sound at the end moves none of them.
    """
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    cuts: list[int] = []
    begin = 0
    while len(sound) - begin > _LATEST_S * SAMPLE_RATE_HZ:
        first = begin + _EARLIEST_S * SAMPLE_RATE_HZ
        searched = sound[first : begin + _LATEST_S * SAMPLE_RATE_HZ].astype(np.float64).reshape(-1, step)
        energy = np.convolve((searched**2).sum(axis=1), np.ones(_QUIET_STEPS), "valid")
        begin = first + (int(energy.argmin()) + _QUIET_STEPS // 2) * step
        cuts.append(begin)
    return cuts
