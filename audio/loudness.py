"""Where sound suddenly grows loud, before a model can tell a voice in it, and how loud a voice is. Pure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

WINDOW_S = 0.008
RISE = 10 ** (15 / 10)
"""A window with this many times the energy of the quietest recent one, 15 dB more, is loud."""
MIN_ENERGY = (32_768 * 10 ** (-60 / 20)) ** 2
"""Mean square of a sample; what is quieter, 60 dB below full scale, is never loud, nor a voice. Low callers
have 40, and 52 where their telephones lower them by 12 while the agent sounds."""
LOUD_WINDOWS = 4
"""A rise is this many loud windows in a row; a click is shorter."""
QUIET_WINDOWS = 12
"""A sound that stays loud, dips and all, ends with this many windows in a row that are not."""
RISE_S = LOUD_WINDOWS * WINDOW_S
"""How long ago the sound grew loud, when that is reported."""
FLOOR_GROWS = 10 ** (0.05 / 10)
"""Per window: the quietest level grows by 6 dB a second, so that it follows a noise that stays."""

FULL_SCALE_DB = 20 * math.log10(32_768)
LOUDER_DB = 3.0
"""How much louder a voice must be before that is reported."""
MIN_LEVEL_WINDOWS = 10
"""With fewer windows of a voice, its level as a whole is not known."""
MAX_LEVEL_WINDOWS = 512
"""How many of the newest windows are looked at: those of a turn of 16 s."""


def energies(sound: NDArray[np.float32], rate_hz: int) -> list[list[float]]:
    """Mean squares of the loudness windows of sounds [n, samples] at `rate_hz`, whole windows each."""
    length = round(WINDOW_S * rate_hz)
    windows = sound.reshape(len(sound), -1, length)
    means: list[list[float]] = (np.vecdot(windows, windows) / length).tolist()
    return means


class LoudnessRise:
    """Tells when sound has just become loud.

    On recorded speech the window of 32 ms in which it does ends 32 ms after the voice began by its energy
    (p95 58); the voice model says so after 44, but after 166 where the voice begins with a breath or an "f".
    """

    def __init__(self) -> None:
        self._floor: float | None = None
        self._loud = self._quiet = 0  # windows in a row

    def push(self, energies: Iterable[float]) -> bool:
        """Whether a rise became certain in these windows, given by their mean squares; a sound that stays
        loud is reported once.
        """
        # 125 windows a second come in each call while the agent speaks: no call of a function for each.
        rises, floor = False, self._floor
        for energy in energies:
            if floor is None:
                floor = energy if energy > 1.0 else 1.0
            if energy > MIN_ENERGY and energy > RISE * floor:
                self._quiet = 0
                self._loud += 1
                rises = rises or self._loud == LOUD_WINDOWS
            else:
                self._quiet += 1
                if self._loud < LOUD_WINDOWS or self._quiet == QUIET_WINDOWS:
                    self._loud = 0
            floor *= FLOOR_GROWS
            if energy < floor:
                floor = energy if energy > 1.0 else 1.0
        self._floor = floor
        return rises

    @property
    def lasts_s(self) -> float:
        """Seconds for which the sound has been loud since it rose, dips left out; 0 once it is quiet."""
        return self._loud * WINDOW_S if self._loud >= LOUD_WINDOWS else 0.0


class VoiceLevel:
    """How loud a voice is, in decibels of full scale: its loudest window so far, and as a whole."""

    def __init__(self) -> None:
        self._voiced: deque[float] = deque(maxlen=MAX_LEVEL_WINDOWS)  # mean squares
        self._loudest = 1.0
        self._told = 0.0

    def push(self, energies: Sequence[float], voiced: bool) -> None:
        """Take in the next windows, given by their mean squares. voiced: that they are a voice."""
        energy = sum(energies) / len(energies)
        self._loudest = max(self._loudest, energy)
        if voiced:
            self._voiced.append(energy)

    def tell(self) -> float:
        """The level of the loudest so far, which is told of now."""
        self._told = self._loudest
        return _decibels(self._loudest)

    @property
    def is_louder(self) -> bool:
        """Whether the voice is louder, by `LOUDER_DB` or more, than was told of it."""
        return self._loudest >= self._told * 10 ** (LOUDER_DB / 10)

    @property
    def as_a_whole_db(self) -> float | None:
        """What three of four voiced windows are below: a bump does not change it, nor do breaths. None where
        they are too few.
        """
        if len(self._voiced) < MIN_LEVEL_WINDOWS:
            return None
        return _decibels(sorted(self._voiced)[len(self._voiced) * 3 // 4])


def _decibels(energy: float) -> float:
    return round(10 * math.log10(max(1.0, energy)) - FULL_SCALE_DB, 1)
