"""Sound without more than a short pause at its end."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples

_QUIET = 100
"""Samples below this, of 32,768, are not heard."""


class QuietEnd:
    """Passes sound on, holding back what is quiet at its end until it is known whether more follows.

    longest: samples of quiet that stay at the end.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held: list[Samples] = []

    def push(self, samples: Samples) -> Samples:
        """What can be passed on now; [0] where all of it is quiet."""
        voiced = np.flatnonzero(np.abs(samples.astype(np.int32)) >= _QUIET)
        if not len(voiced):
            self._held.append(samples)
            return samples[:0]
        end = int(voiced[-1]) + 1
        passed: Samples = np.concatenate([*self._held, samples[:end]])
        self._held = [samples[end:]]
        return passed

    def finish(self) -> Samples:
        """The pause at the end."""
        held, self._held = self._held, []
        quiet: Samples = np.concatenate([*held, np.zeros(0, np.int16)])
        return quiet[: self._longest]
