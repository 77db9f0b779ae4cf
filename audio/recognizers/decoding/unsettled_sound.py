"""Audio of an utterance that a server has not settled yet, kept for resending."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples


class UnsettledSound:
    """The end of an utterance's audio. Positions are samples since its start.

    Attributes:
        settled: end of the audio whose transcript is final.
        taken: end of the audio received.
    """

    def __init__(self) -> None:
        self.settled = 0
        self.taken = 0
        self._kept = bytearray()

    def push(self, sound: Samples) -> None:
        """Add audio, [n] int16."""
        self._kept += sound.tobytes()
        self.taken += len(sound)

    def settle(self, position: int) -> None:
        """Drop the audio before `position`."""
        position = min(max(position, self.settled), self.taken)
        del self._kept[: 2 * (position - self.settled)]
        self.settled = position

    @property
    def rest(self) -> Samples:
        """Unsettled audio, [n] int16."""
        return np.frombuffer(bytes(self._kept), np.int16)
