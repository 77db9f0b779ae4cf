"""The caller's loudspeaker: when each frame of the agent's audio is played, and how soon it yields.

It plays the received frames in turn, from their arrival; without a frame it is silent. So the results are
what a caller hears, including audio sent before the agent yielded.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from audio.pcm import Samples

LOWERED = 0.2
"""Maximum energy of a ducked frame relative to the undisturbed one: 15 dB are 0.03, and a glide is more."""
LOUD = 1e-3
"""Minimum energy of a frame, relative to the loudest, for ducking to be audible."""
SILENCE_S = 0.2
"""Gap after which the agent counts as silent, not just late."""


class Loudspeaker:
    """Playback of one response. Times are seconds of any clock; `frame_s`: length of each frame."""

    def __init__(self, frame_s: float = 0.02) -> None:
        self._frame_s = frame_s
        self.begins_s: list[float] = []
        """Start of playback of each frame."""
        self.frames: list[Samples] = []
        self._over_s = 0.0

    def play(self, frame: Samples, now_s: float) -> None:
        """Add a frame."""
        begins_s = max(now_s, self._over_s)
        self.begins_s.append(begins_s)
        self.frames.append(frame)
        self._over_s = begins_s + self._frame_s

    def clear(self, now_s: float) -> None:
        """Drop unplayed frames."""
        while self.begins_s and self.begins_s[-1] >= now_s:
            self.begins_s.pop()
            self.frames.pop()
        self._over_s = min(self._over_s, now_s)

    def silent_s(self, after_s: float) -> float | None:
        """Return when silence begins, at or after `after_s`; None if it never does."""
        ends = [begin + self._frame_s for begin in self.begins_s]
        for end, following in zip(ends, [*self.begins_s[1:], np.inf], strict=True):
            if following - end >= SILENCE_S and following > after_s:
                return max(after_s, min(end, self._over_s) if following == np.inf else end)
        return None

    def longest_gap_s(self, after_s: float) -> float:
        """Return the longest silence between two frames, of those that end after `after_s`."""
        gaps = [
            following - begin - self._frame_s
            for begin, following in pairwise(self.begins_s)
            if following > after_s
        ]
        return max(gaps, default=0.0)

    def lowered_s(self, after_s: float, undisturbed: list[Samples]) -> float | None:
        """Return the end of audio at full volume, at or after `after_s`; None if the voice is never ducked.

        undisturbed: frames of the same response without an interruption; its pauses do not count as ducking.
        """
        silent = self.silent_s(after_s)
        energies = [_energy(frame) for frame in undisturbed]
        loud = LOUD * max(energies, default=0.0)
        lowered_s = after_s
        for begin, frame, energy in zip(self.begins_s, self.frames, energies, strict=False):
            if begin + self._frame_s <= after_s or energy <= loud:
                continue
            if _energy(frame) < LOWERED * energy:
                return lowered_s if silent is None else min(lowered_s, silent)
            lowered_s = begin + self._frame_s
        return silent


def _energy(frame: Samples) -> float:
    return float(np.mean(frame.astype(np.float64) ** 2))
