"""Which windows of a line need no judging: those no louder than the silence just before them. Pure.

Most of a call its caller listens. What is as loud as the noise of his line, which the model has just judged
many times over not to be speech, is not worth another run. Anything louder is judged, from its first window
on: speech of half the noise's energy is enough.

Measured on 12 recordings at 0, -12 and -24 dB between silences of 4 s, with noise of 0 to 100 (rms, of
32,768): the model ran for 44 % of the windows. Its memory of the silence is another, so that some speech
began up to 160 ms earlier or later.
"""

from __future__ import annotations

SURE_WINDOWS = 16
"""So many windows in a row, half a second, were surely silent."""
SURELY_SILENT = 0.05
"""Below this probability of speech a window is."""
LOUDER = 1.5
"""Of the energy of those windows, what a window may have at most."""
MOST_ENERGY = 3e-5
"""Of full scale squared, -45 dB: on a louder line every window is judged."""
LEAST_ENERGY = 1e-9
"""-90 dB, as loud as the last bit: below it all is silent."""


class QuietLine:
    """The silence of one line. energy: mean square of a window, of full scale squared."""

    def __init__(self) -> None:
        self._silent_windows = 0
        self._energy = 0.0
        self.probability = 0.0
        """Of the newest window that was judged."""

    def needs_no_judging(self, energy: float) -> bool:
        """Whether a window of such energy is silent for sure."""
        if self._silent_windows < SURE_WINDOWS or energy > MOST_ENERGY:
            return False
        return energy <= max(LOUDER * self._energy, LEAST_ENERGY)

    def judged(self, energy: float, probability: float) -> None:
        """The model's word on a window."""
        self.probability = probability
        if probability >= SURELY_SILENT:
            self._silent_windows = 0
            return
        self._silent_windows += 1
        self._energy += (energy - self._energy) / min(self._silent_windows, SURE_WINDOWS)
