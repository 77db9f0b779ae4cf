"""How the pitch of a voice ends: it falls where a statement is over, and stays up where more follows. Pure.

Final lowering: Pierrehumbert, The Phonology and Phonetics of English Intonation, 1980. As a cue to the end of
a turn: Gravano and Hirschberg, Turn-taking cues in task-oriented dialogue, 2011. The tracker is Boersma's
autocorrelation of windowed sound divided by that of the window, 1993.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.pcm import Samples

MAX_VOICE_S = 1.0
"""So much of the newest voice is looked at."""
END_WINDOWS = 8
"""So many of its windows with a pitch, the last 80 ms of its vowels, are its end."""
FALL = 0.92
"""The voice has fallen where the pitch of its end is so many times the pitch before, or less."""
RISE = 1.05
"""And where the end itself does not rise: its last third so many times the first, or more."""

_RATE_HZ = 8_000
_WINDOW = 320  # samples: three periods of the lowest pitch
_HOP = 80
_TRANSFORM = 512  # no less than the window and the longest period
_LOWEST_HZ, _HIGHEST_HZ = 75, 400
_PERIODIC = 0.6  # autocorrelation from which a window has a pitch
_AS_GOOD = 0.97  # of the best; the shortest period so good is taken, not one of its multiples
_LOUD = 10 ** (-25 / 10)  # of the loudest window; what is quieter is no vowel

_TAPER: NDArray[np.float32] = np.hanning(_WINDOW).astype(np.float32)
_OF_TAPER: NDArray[np.float32] = np.fft.irfft(np.abs(np.fft.rfft(_TAPER, _TRANSFORM)) ** 2)[
    : _RATE_HZ // _LOWEST_HZ + 1
].astype(np.float32)
_OF_TAPER /= _OF_TAPER[0]  # its autocorrelation up to the longest period


def falls(voice: Samples) -> bool:
    """Whether the pitch of `voice` [n], at 16 kHz, is low at its end; False where it cannot be told."""
    halved = voice[: len(voice) // 2 * 2].reshape(-1, 2).mean(axis=1, dtype=np.float32)
    halved = halved[-round(MAX_VOICE_S * _RATE_HZ) :]
    if len(halved) < _WINDOW:
        return False
    windows = sliding_window_view(halved, _WINDOW)[::_HOP]
    pitches = _pitches(windows - windows.mean(axis=1, keepdims=True))
    pitches = pitches[pitches > 0]
    end, before = pitches[-END_WINDOWS:], pitches[:-END_WINDOWS]
    if len(before) < END_WINDOWS:
        return False
    third = END_WINDOWS // 3 + 1
    rises = np.median(end[-third:]) >= RISE * np.median(end[:third])
    return bool(np.median(end) <= FALL * np.median(before) and not rises)


def _pitches(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The pitch in Hz of each of `windows` [n, 320], 0 for what has none."""
    energies = np.einsum("nw,nw->n", windows, windows)
    correlated = np.fft.irfft(np.abs(np.fft.rfft(windows * _TAPER, _TRANSFORM)) ** 2)[:, : len(_OF_TAPER)]
    correlated /= np.maximum(correlated[:, :1], 1.0) * _OF_TAPER
    shortest = _RATE_HZ // _HIGHEST_HZ
    inner = correlated[:, shortest:-1]
    is_peak = (inner > correlated[:, shortest - 1 : -2]) & (inner >= correlated[:, shortest + 1 :])
    peaks = np.where(is_peak, inner, 0.0)
    best = peaks.max(axis=1)
    periods = shortest + np.argmax(peaks >= _AS_GOOD * best[:, np.newaxis], axis=1)
    voiced = (best >= _PERIODIC) & (energies > _LOUD * energies.max())
    pitches: NDArray[np.float32] = np.where(voiced, _RATE_HZ / periods, 0.0).astype(np.float32)
    return pitches
