"""Detection of the end of a voice from its loudness, ahead of a voice activity model.

Two questions with thresholds of their own: how much of the newest audio is certainly silent while the model
still detects a voice (`FALL` to `PEAK_FADES`), and where a voice that has fallen silent ended (`END_FALL` to
`ROOM_S`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audio.loudness import FLOOR_GROWS, MIN_ENERGY, WINDOW_S

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
        # decay of each window in later ones, [rooms, later, windows]
        self._left = np.where(ago >= 0, left, 0.0)

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


FALL = 10 ** (30 / 10)
"""A window 30 dB below the voice's peak is silence."""
OVER_FLOOR = 10 ** (4 / 10)
"""A window at most 4 dB (for chance) above the noise floor of the line is silence too."""
MIN_FALL = 10 ** (18 / 10)
"""If that noise is less than 18 dB below the peak, loudness cannot detect the end."""
PEAK_FADES = 10 ** (-0.05 / 10)
"""Factor per window: the peak decays by 6 dB a second, so that it follows a voice that grows quiet."""

END_FALL = 10 ** (18 / 10)
"""Windows more than 18 dB below the loudest recent one are breath, not voice."""
END_S = 0.6
"""Window of time in which the loudest recent one is searched."""
END_MIN_FALL = 10 ** (9 / 10)
"""A window within 9 dB of the loudest is voice, however noisy the line is."""
OVER_LINE = 10 ** (5 / 10)
"""A window is louder than the line's noise, which has peaks, from 5 dB above its mean."""
OVER_ROOM = 10 ** (5 / 10)
"""Margin above the estimated reverberation for a window to be voice."""
MIN_ROOM_FALL = 10 ** (13 / 10)
"""That margin applies only to windows 13 dB or more below the loudest."""
LOUD_ROOM_FALL = 10 ** (8 / 10)
"""Without the margin, the estimate applies to windows 8 dB or more below the loudest."""
NOISY_FALL = 10 ** (20 / 10)
"""Noise less than 20 dB below the loudest window may mask the end of a word."""
SURE = 0.9
"""Speech probability from which the model is sure of a voice. In noise it is the better indicator: it falls
below this 40 to 100 ms after the voice's end, 140 at most.
"""
SURE_AFTER_S = 0.02
"""Time after the end of a voice for which the model is assumed to stay sure."""
UNSURE_S = 0.25
"""A model that was last sure longer ago than this is not used."""
ROOM_S = 1.0
"""Length of audio from which the reverberation is estimated."""

_END_WINDOWS = round(END_S / WINDOW_S)
_ROOM_WINDOWS = round(ROOM_S / WINDOW_S)
_ROOM = Reverberation(_ROOM_WINDOWS, WINDOW_S)
_TOGETHER = 3


class LoudnessFall:
    """Detector of silence at the end of a chunk in which the model still detects a voice.

    On speech of four synthetic voices the last window that is not silent ends 0 to 15 ms after the voice, by
    its energy; the last chunk voiced for the voice model ends 65 to 145 ms after it.
    """

    def __init__(self) -> None:
        self._floor = math.inf  # unknown before the first unvoiced windows
        self._line = math.inf  # mean level of the line's noise; unknown likewise
        self._peak = 1.0
        self._recent: deque[float] = deque(maxlen=_ROOM_WINDOWS)
        self._sure_ago_s = math.inf

    def push(self, energies: Sequence[float], voiced: bool, sure: bool = False) -> float:
        """Return the seconds of silence at the end of these windows, given by their mean squares.

        voiced: the model detects a voice, maybe one that has ended. sure: its probability is `SURE` or more.
        """
        windows = len(energies)
        self._recent += energies
        self._sure_ago_s = 0.0 if sure else self._sure_ago_s + windows * WINDOW_S
        if not voiced:
            grows = FLOOR_GROWS**windows
            self._floor = min(max(1.0, *energies), self._floor * grows)
            self._line = min(max(1.0, sum(energies) / windows), self._line * grows)
            self._peak *= PEAK_FADES**windows
            return 0.0
        silent, peak, noise = 0, self._peak, OVER_FLOOR * self._floor
        for energy in energies:
            if energy <= max(peak / FALL, noise) <= peak / MIN_FALL:
                silent += 1
            else:
                silent = 0
                peak = max(energy, PEAK_FADES * peak)
        self._peak = peak
        return silent * WINDOW_S

    def is_silent(self, energies: Sequence[float]) -> bool:
        """Return True if windows in a pause, not pushed yet, are as quiet as silence.

        If not, the voice may be back, which only the model can decide.
        """
        return max(energies, default=0.0) <= max(MIN_ENERGY, self._peak / FALL, OVER_LINE * self._line)

    def ended_ago_s(self) -> float:
        """Return the seconds from the voice's last loud window to now, once it has fallen silent.

        A window is voice if it exceeds the highest of three limits, each bounded relative to the loudest
        recent window so that a wrong estimate cannot hide a loud voice: 18 dB below that window (the rest is
        breath); the line's noise (at most 9 dB below it); the reverberation, with a margin for quiet windows
        (13 dB below it) and without one for louder ones (up to 8 dB below it).
        On a noisy line the noise itself may pass the limits after the voice has ended, so the end is no later
        than `SURE_AFTER_S` after the model was last sure of a voice.

        Against labels by energy at the source, on recordings of people that were not used for tuning, the
        error is 14 to 52 ms at the median and 118 to 162 ms at the 95th percentile
        (`tests/bench/voice_end.py measure`, by these rules alone).
        """
        if len(self._recent) < _TOGETHER:
            return 0.0
        energies = np.array(self._recent)
        loud = _together(energies)
        loudest = loud[-_END_WINDOWS:].max(initial=0.0)
        line = min(OVER_LINE * self._line, loudest / END_MIN_FALL) if self._line < math.inf else 0.0
        room = _together(_ROOM(energies))
        over_room = np.minimum(OVER_ROOM * room, loudest / MIN_ROOM_FALL)
        over_room = np.maximum(over_room, np.minimum(room, loudest / LOUD_ROOM_FALL))
        voiced = np.flatnonzero(loud >= np.maximum(over_room, max(line, loudest / END_FALL)))
        ago_s = float(len(loud) - 1 - voiced[-1]) * WINDOW_S if len(voiced) else 0.0
        noisy = line >= loudest / NOISY_FALL
        if not noisy or self._sure_ago_s > UNSURE_S:
            return ago_s
        return max(ago_s, self._sure_ago_s + SURE_AFTER_S)


def _together(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of three consecutive windows: a single loud one is a click, or a peak of noise."""
    return (energies[2:] + energies[1:-1] + energies[:-2]) / _TOGETHER
