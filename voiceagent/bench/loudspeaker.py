"""The caller's loudspeaker: when each frame of the agent's sound is played, and how soon it yields. Pure.

It plays the frames that it is sent one after the other, from when each arrives; where none has come it is
silent. So what it reports is what a caller hears, with the sound that had left when the agent yielded.
"""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples

LOWERED = 0.2
"""A frame of a lowered voice has at most this part of its undisturbed energy: 15 dB are 0.03, and a glide is
more."""
LOUD = 1e-3
"""A frame needs this part of the loudest frame's energy, or one cannot hear that it is lowered."""
SILENCE_S = 0.2
"""Without sound for so long, the agent is silent and not merely late."""


class Loudspeaker:
    """Plays one response. Times are seconds of any clock; `frame_s`: length of each frame."""

    def __init__(self, frame_s: float = 0.02) -> None:
        self._frame_s = frame_s
        self.begins_s: list[float] = []
        """When each frame is played."""
        self.frames: list[Samples] = []
        self._over_s = 0.0

    def play(self, frame: Samples, now_s: float) -> None:
        """A frame arrives."""
        begins_s = max(now_s, self._over_s)
        self.begins_s.append(begins_s)
        self.frames.append(frame)
        self._over_s = begins_s + self._frame_s

    def clear(self, now_s: float) -> None:
        """What is not played yet never will be."""
        while self.begins_s and self.begins_s[-1] >= now_s:
            self.begins_s.pop()
            self.frames.pop()
        self._over_s = min(self._over_s, now_s)

    def silent_s(self, after_s: float) -> float | None:
        """From when on, at or after `after_s`, nothing is heard; None where nothing ever was."""
        ends = [begin + self._frame_s for begin in self.begins_s]
        for end, following in zip(ends, [*self.begins_s[1:], np.inf], strict=True):
            if following - end >= SILENCE_S and following > after_s:
                return max(after_s, min(end, self._over_s) if following == np.inf else end)
        return None

    def lowered_s(self, after_s: float, undisturbed: list[Samples]) -> float | None:
        """The end of what is heard at full volume, `after_s` or later; None if the voice is never lowered.

        undisturbed: the frames of the same response when nobody speaks over it; pauses in it are no lowering.
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
