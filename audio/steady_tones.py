"""Detector of single steady tones: the beep of a voicemail, and the tones of a fax machine.

ITU-T T.30 has the fax tones: CNG 1100 Hz +-38 Hz for 0.5 s, CED 2100 Hz +-15 Hz for 2.6 to 4 s.

Measured: no tone in 720 s of recorded people at 8 kHz (up to 20 s of each recording).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples

WINDOW_S, HOP_S = 0.08, 0.01
"""Length of an analysis window, 640 samples at 8 kHz, and the step between two. Shorter windows do not
separate the two tones of the North American ringback, 440 and 480 Hz.
"""
MIN_HZ, MAX_HZ = 400.0, 2_200.0
MIN_LEVEL = 300.0
"""RMS below which a window is silence: -41 dB of full scale."""
MIN_SHARE = 0.9
"""Share of a window's energy within two bins of the strongest one. Noise 12 dB below a tone leaves 0.94;
vowels have harmonics.
"""
MAX_DRIFT_HZ = 8.0
"""Maximum distance of a window's frequency from the mean of its tone. Voices and whistles drift further."""
MIN_TONE_S, MAX_TONE_S = 0.15, 2.0
"""Shortest tone, and the length at which a tone is reported although it lasts."""


@dataclass(frozen=True, slots=True)
class SteadyTone:
    """A tone that has ended, or has lasted `MAX_TONE_S`."""

    frequency_hz: float
    length_s: float


class SteadyToneDetector:
    """Detector of steady tones in audio, by the spectrum of overlapping windows."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._window = round(WINDOW_S * rate_hz)
        self._hop = round(HOP_S * rate_hz)
        self._shape = np.hanning(self._window)
        self._left: NDArray[np.float64] = np.zeros(0)
        self._mean_hz = 0.0
        self._windows = 0
        self._reported = False

    def push(self, samples: Samples) -> list[SteadyTone]:
        """Add audio [n], int16 mono, and return the tones that are now known. Each is reported once."""
        self._left = np.concatenate([self._left, samples.astype(np.float64)])
        tones = []
        while len(self._left) >= self._window:
            tone = self._on_window(self._frequency_hz(self._left[: self._window]))
            if tone is not None:
                tones.append(tone)
            self._left = self._left[self._hop :]
        return tones

    def _on_window(self, frequency_hz: float) -> SteadyTone | None:
        """Handle a window with a tone of this frequency, 0 for none."""
        if frequency_hz and self._windows and abs(frequency_hz - self._mean_hz) <= MAX_DRIFT_HZ:
            self._windows += 1
            self._mean_hz += (frequency_hz - self._mean_hz) / self._windows
            return self._report(MAX_TONE_S)
        ended = self._report(MIN_TONE_S)
        self._mean_hz, self._windows, self._reported = frequency_hz, int(frequency_hz > 0), False
        return ended

    def _report(self, min_s: float) -> SteadyTone | None:
        # the windows at both ends need only most of their energy from the tone
        length_s = self._windows * HOP_S + WINDOW_S / 4
        if self._reported or not self._windows or length_s < min_s:
            return None
        self._reported = True
        return SteadyTone(self._mean_hz, length_s)

    def _frequency_hz(self, window: NDArray[np.float64]) -> float:
        """Return the frequency of the single tone in a window, 0 for none."""
        if float(window @ window) < MIN_LEVEL**2 * self._window:
            return 0.0
        power = np.abs(np.fft.rfft(window * self._shape)) ** 2
        peak = int(power[1:].argmax()) + 1
        first = max(peak - 2, 0)
        near = power[first : peak + 3]
        if near.sum() < MIN_SHARE * power.sum():
            return 0.0
        bins = float(near @ np.arange(first, first + len(near))) / float(near.sum())
        frequency_hz = bins * self._rate_hz / self._window
        return frequency_hz if MIN_HZ <= frequency_hz <= MAX_HZ else 0.0
