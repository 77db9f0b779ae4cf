"""Where sound suddenly grows loud, and where a voice falls silent: both before a model can tell it. Pure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from audio.reverberation import Reverberation

WINDOW_S = 0.008
RISE = 10 ** (15 / 10)
"""A window with this many times the energy of the quietest recent one, 15 dB more, is loud."""
MIN_ENERGY = (32_768 * 10 ** (-60 / 20)) ** 2
"""Mean square of a sample; what is quieter, 60 dB below full scale, is never loud. Low callers have 40, and
52 where their telephones lower them by 12 while the agent sounds."""
LOUD_WINDOWS = 4
"""A rise is this many loud windows in a row; a click is shorter."""
QUIET_WINDOWS = 12
"""A sound that stays loud, dips and all, ends with this many windows in a row that are not."""
RISE_S = LOUD_WINDOWS * WINDOW_S
"""How long ago the sound grew loud, when that is reported."""
FLOOR_GROWS = 10 ** (0.05 / 10)
"""Per window: the quietest level grows by 6 dB a second, so that it follows a noise that stays."""

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
"""That is 13 dB below the loudest, or more."""
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


FULL_SCALE_DB = 20 * math.log10(32_768)
LOUDER_DB = 3.0
"""How much louder a voice must be before that is reported."""
MIN_LEVEL_WINDOWS = 10
"""Of a voice with fewer windows, each pushed at once, its level as a whole is not known."""
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
        self._recent += energies
        self._sure_ago_s = 0.0 if sure else self._sure_ago_s + len(energies) * WINDOW_S
        if not voiced:
            grows = FLOOR_GROWS ** len(energies)
            self._floor = min(max(1.0, *energies), self._floor * grows)
            self._line = min(max(1.0, sum(energies) / len(energies)), self._line * grows)
            self._peak *= PEAK_FADES ** len(energies)
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

        Against labels by energy at the source (`tests/bench/voice_end.py`), on recordings of people that
        nothing was tuned on, it is off by so many ms at the median and the 95th percentile: dry 14, 148; by
        telephone 14, 118; in rooms that ring for 0.3, 0.5, 0.8 s 25, 150; 24, 138; 52, 162; across one 50,
        118; in noise 20, 15, 10 dB below the voice 18, 136; 24, 148; 40, 146.
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


_END_WINDOWS = round(END_S / WINDOW_S)
_ROOM_WINDOWS = round(ROOM_S / WINDOW_S)
_ROOM = Reverberation(_ROOM_WINDOWS, WINDOW_S)
_TOGETHER = 3


def _together(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of three windows that follow each other: a single one is a click, or a peak of noise."""
    return (energies[2:] + energies[1:-1] + energies[:-2]) / _TOGETHER


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
