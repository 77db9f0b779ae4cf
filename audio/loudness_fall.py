"""Where a voice falls silent, by its loudness: before a model of speech can tell it. Pure.

Twice, as two questions are asked: `FALL` to `PEAK_FADES` say how much of a window is surely silent while the
model still hears a voice, `END_FALL` to `ROOM_S` where a voice ended that has fallen silent since.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audio.loudness import FLOOR_GROWS, MIN_ENERGY, WINDOW_S
from audio.reverberation import Reverberation

FALL = 10 ** (30 / 10)
"""A window with this many times less energy than the loudest of the voice, 30 dB less, is silence."""
OVER_FLOOR = 10 ** (4 / 10)
"""A window that is no louder than the noise of the line, with 4 dB for chance, is silence too."""
MIN_FALL = 10 ** (18 / 10)
"""Where that noise is nearer to the voice than 18 dB, loudness cannot tell its end."""
PEAK_FADES = 10 ** (-0.05 / 10)
"""Per window: the loudest level falls by 6 dB a second, so that it follows a voice that grows low."""

END_FALL = 10 ** (18 / 10)
"""A voice ended with its last window that was within 18 dB of the loudest of late, and louder than what the
room and the line add: what follows is breath."""
END_S = 0.6
"""How far back the loudest recent window may lie."""
END_MIN_FALL = 10 ** (9 / 10)
"""What is within 9 dB of the loudest is a voice, however loud the line is."""
OVER_LINE = 10 ** (5 / 10)
"""A window is louder than the line, which has peaks, from this on."""
OVER_ROOM = 10 ** (5 / 10)
"""A window is louder than what the room is taken to add from this on."""
MIN_ROOM_FALL = 10 ** (13 / 10)
"""What the room adds is 13 dB below the loudest, or more."""
LOUD_ROOM_FALL = 10 ** (8 / 10)
"""What is no louder than the room is the room's from 8 dB below the loudest on."""
NOISY_FALL = 10 ** (20 / 10)
"""A line less than 20 dB below the loudest may hide the end of a word."""
SURE = 0.9
"""The probability of speech from which a voice is sure. There it is the better witness: it is lower 40 to
100 ms after a voice's end, and 140 at most."""
SURE_AFTER_S = 0.02
"""How long after a voice's end the model is still sure of it."""
UNSURE_S = 0.25
"""What was sure longer ago, or never, says nothing."""
ROOM_S = 1.0
"""How much sound shows how loud the room is."""

_END_WINDOWS = round(END_S / WINDOW_S)
_ROOM_WINDOWS = round(ROOM_S / WINDOW_S)
_ROOM = Reverberation(_ROOM_WINDOWS, WINDOW_S)
_TOGETHER = 3


class LoudnessFall:
    """Tells how long the end of a window is silent while the model still hears a voice.

    On speech of four synthetic voices the last window that is not silent ends 0 to 15 ms after the voice, by
    its energy; what the voice model takes for the last voiced one ends 65 to 145 ms after it.
    """

    def __init__(self) -> None:
        self._floor = math.inf  # not known before the first windows that are no voice
        self._line = math.inf  # as loud as the line is, noise and all; nor is this
        self._peak = 1.0
        self._recent: deque[float] = deque(maxlen=_ROOM_WINDOWS)
        self._sure_ago_s = math.inf

    def push(self, energies: Sequence[float], voiced: bool, sure: bool = False) -> float:
        """Seconds of silence at the end of these windows, given by their mean squares.

        voiced: that they are a voice, as the model has it, which may linger. sure: that it is `SURE` of that.
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
        """Whether windows that follow those pushed, in a pause, are no louder than what is taken for silence:
        else the voice may be back, which only the model can tell.
        """
        return max(energies, default=0.0) <= max(MIN_ENERGY, self._peak / FALL, OVER_LINE * self._line)

    def ended_ago_s(self) -> float:
        """Seconds from the voice's last loud window to now, once it has fallen silent.

        Alone, against labels by energy at the source, on recordings of people that nothing was tuned on, it
        is off by 14 to 52 ms at the median and by 118 to 162 ms at the 95th percentile
        (`tests/bench/results/sound.md`, "before").
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
    """Means of three windows that follow each other: a single one is a click, or a peak of noise."""
    return (energies[2:] + energies[1:-1] + energies[:-2]) / _TOGETHER
