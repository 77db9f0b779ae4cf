"""Detection of sudden rises in loudness, ahead of a voice activity model, and the level of a voice."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples

WINDOW_S = 0.008
RISE = 10 ** (15 / 10)
"""A window is loud if its energy is this many times that of the quietest recent one: 15 dB."""
MIN_ENERGY = (32_768 * 10 ** (-60 / 20)) ** 2
"""Mean square below which audio is neither loud nor a voice: 60 dB below full scale. Quiet callers are at -40
dB, and at -52 where their telephones attenuate them by 12 dB while the agent speaks.
"""
LOUD_WINDOWS = 4
"""Consecutive loud windows that make a rise; a click is shorter."""
QUIET_WINDOWS = 12
"""Consecutive windows below the limit that end a loud sound; fewer are a dip."""
RISE_S = LOUD_WINDOWS * WINDOW_S
"""Age of a rise when it is reported."""
FLOOR_GROWS = 10 ** (0.05 / 10)
"""Factor per window: the floor grows by 6 dB a second, so that it follows steady noise."""

FULL_SCALE_DB = 20 * math.log10(32_768)
LOUDER_DB = 3.0
"""Minimum increase of a voice's level that is reported."""
MIN_LEVEL_WINDOWS = 10
"""Minimum number of voiced windows for an overall level."""
MAX_LEVEL_WINDOWS = 512
"""Number of newest windows used: those of a turn of 16 s."""
RETURN_MIN_PEAK = 80.0
"""Least peak of a voice, or of the breath before it, -52 dB of full scale: below is a quiet line's noise."""
RETURN_RISE = 2.0
"""Least ratio of a returning voice's peak to that of the pause, 6 dB. Those of steady noise vary by 4 dB."""
RETURN_FORGET = 1.03
"""Growth of the pause's level per frame, so that louder surroundings become the new pause: 8 dB in 0.6 s."""


def energies(sound: NDArray[np.float32], rate_hz: int) -> list[list[float]]:
    """Return the mean squares of the loudness windows of signals [n, samples], which are whole windows."""
    length = round(WINDOW_S * rate_hz)
    windows = sound.reshape(len(sound), -1, length)
    means: list[list[float]] = (np.vecdot(windows, windows) / length).tolist()
    return means


class LoudnessRise:
    """Detector of sudden rises in loudness.

    On recorded speech the 32 ms window with the rise ends 32 ms after the voice began by its energy (p95 58);
    the voice model needs 44 ms, but 166 if the voice begins with a breath or an "f".
    """

    def __init__(self) -> None:
        self._floor: float | None = None
        self._loud = self._quiet = 0  # consecutive windows

    def push(self, energies: Iterable[float]) -> bool:
        """Return True if a rise is detected in these windows, given by their mean squares.

        A sound that stays loud is reported once.
        """
        # Inlined: each call pushes 125 windows a second while the agent speaks.
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
        """Seconds for which audio has been loud since the rise, dips excluded; 0 once it is quiet."""
        return self._loud * WINDOW_S if self._loud >= LOUD_WINDOWS else 0.0


class VoiceLevel:
    """Level of a voice in dBFS: of its loudest window, and overall."""

    def __init__(self) -> None:
        self._voiced: deque[float] = deque(maxlen=MAX_LEVEL_WINDOWS)  # mean squares
        self._loudest = 1.0
        self._reported = 0.0

    def push(self, energies: Sequence[float], voiced: bool) -> None:
        """Add windows, given by their mean squares. voiced: whether the model detects a voice in them."""
        energy = sum(energies) / len(energies)
        self._loudest = max(self._loudest, energy)
        if voiced:
            self._voiced.append(energy)

    def mark_reported(self) -> float:
        """Return the level of the loudest window and remember it as reported."""
        self._reported = self._loudest
        return _decibels(self._loudest)

    @property
    def is_louder(self) -> bool:
        """True if the voice exceeds the reported level by `LOUDER_DB` or more."""
        return self._loudest >= self._reported * 10 ** (LOUDER_DB / 10)

    @property
    def overall_db(self) -> float | None:
        """Upper quartile of the voiced windows' levels, unchanged by bumps and breaths; None if too few."""
        if len(self._voiced) < MIN_LEVEL_WINDOWS:
            return None
        return _decibels(sorted(self._voiced)[len(self._voiced) * 3 // 4])


def _decibels(energy: float) -> float:
    return round(10 * math.log10(max(1.0, energy)) - FULL_SCALE_DB, 1)


class VoiceReturn:
    """Detects, frame by frame, that a paused voice returns.

    Voice detection needs a window of 32 ms and several of them to be sure. That is late for audio that must
    not sound over a word and may be dropped for no reason, such as a listener's backchannel.
    """

    def __init__(self) -> None:
        self._floor = float(np.iinfo(np.int16).max)

    def push(self, frame: Samples) -> bool:
        """Return True if this frame, int16 [n] of about 20 ms, is much louder than the pause before it."""
        if not len(frame):
            return False
        peak = float(max(int(frame.max()), -int(frame.min())))
        returned = peak >= RETURN_MIN_PEAK and peak >= RETURN_RISE * self._floor
        self._floor = min(peak, self._floor * RETURN_FORGET)
        return returned
