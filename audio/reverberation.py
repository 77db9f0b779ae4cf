"""Estimate of the reverberation that follows a voice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Energies = NDArray[np.float64]

RINGING_S = (0.4, 1.2)
"""Reverberation times (60 dB decay) of a dry and of a live room; the larger estimate counts."""
DIRECT_S = 0.024
"""Audio within this time is direct sound, not reverberation."""
LEAST = 0.05
"""Quantile of the ratios between windows and decayed audio that is taken for the room's gain."""
SMOOTHED = 3
"""Windows to average, which evens out peaks of the reverberation."""


class Reverberation:
    """Estimator for at most `windows` windows of `window_s` each.

    Reverberation is the earlier audio, decaying exponentially (Lebart, Boucher and Denbigh, 2001), times an
    unknown gain of the room. Every window contains its reverberation, so its energy divided by the decayed
    earlier energy is at least that gain. The ratio is near the gain where only reverberation is left, in the
    gaps of a voice; so a low quantile of the ratios estimates it. (The minimum would follow a single quiet
    window.) If the gaps are silent, as with a headset, the estimate is 0.
    """

    def __init__(self, windows: int, window_s: float) -> None:
        ago = np.subtract.outer(np.arange(windows), np.arange(windows)) - round(DIRECT_S / window_s)
        left = [10 ** (-6 * window_s * np.maximum(ago, 0) / seconds) for seconds in RINGING_S]
        self._left = np.where(
            ago >= 0, left, 0.0
        )  # decay of each window in later ones, [rooms, later, windows]

    def __call__(self, energies: Energies) -> Energies:
        """Return the mean squares of the reverberation in windows of these mean squares [n]."""
        count = len(energies)
        # `np.pad` takes ten times as long.
        padded = np.concatenate((np.repeat(energies[:1], SMOOTHED - 1), energies))
        even = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
        added: Energies = np.zeros(count)
        for before in self._left[:, :count, :count] @ energies:
            heard = before > 1.0
            if heard.any():
                shares = np.sort(even[heard] / before[heard])
                added = np.maximum(added, before * shares[int(LEAST * len(shares))])
        return added
