"""How much of what is heard behind a voice is only its room. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Energies = NDArray[np.float64]

RINGING_S = (0.4, 1.2)
"""Seconds in which a dry room's sound falls by 60 dB, and that of one that rings: what adds more counts."""
DIRECT_S = 0.024
"""What comes within this time after a sound is the sound itself, and not yet the room."""
LEAST = 0.05
"""The part of the windows that is quieter than the room is taken to be."""
SMOOTHED = 3
"""Windows, over which the peaks of a room's sound are evened out."""


class Reverberation:
    """What a room adds to sounds of at most so many windows, each `window_s` long.

    A room's sound is what was heard before, dying away at an even rate (Lebart, Boucher and Denbigh, 2001).
    How loud it is the sound itself tells: no louder than its quietest windows were behind a voice. Where
    nothing is heard there, as by a headset, it is no room at all.
    """

    def __init__(self, windows: int, window_s: float) -> None:
        ago = np.subtract.outer(np.arange(windows), np.arange(windows)) - round(DIRECT_S / window_s)
        left = [10 ** (-6 * window_s * np.maximum(ago, 0) / seconds) for seconds in RINGING_S]
        self._left = np.where(ago >= 0, left, 0.0)  # of each window in later ones, [rooms, later, windows]

    def __call__(self, energies: Energies) -> Energies:
        """The mean squares that the room is taken to add to windows of such mean squares [n]."""
        count = len(energies)
        # `np.pad` takes ten times as long
        padded = np.concatenate((np.repeat(energies[:1], SMOOTHED - 1), energies))
        even = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
        added: Energies = np.zeros(count)
        for before in self._left[:, :count, :count] @ energies:
            heard = before > 1.0
            if heard.any():
                shares = np.sort(even[heard] / before[heard])
                added = np.maximum(added, before * shares[int(LEAST * len(shares))])
        return added
