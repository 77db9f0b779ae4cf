"""The sound of an utterance that a server has not settled yet, so that it can be sent again. Pure."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples


class UnsettledSound:
    """The end of an utterance's sound; positions are samples since its start.

    settled: up to where the words are known for good. taken: up to where there is sound.
    """

    def __init__(self) -> None:
        self.settled = 0
        self.taken = 0
        self._kept = bytearray()

    def push(self, sound: Samples) -> None:
        """Take more, [n] int16."""
        self._kept += sound.tobytes()
        self.taken += len(sound)

    def settle(self, position: int) -> None:
        """What lies before `position` will not be wanted again."""
        position = min(max(position, self.settled), self.taken)
        del self._kept[: 2 * (position - self.settled)]
        self.settled = position

    @property
    def rest(self) -> Samples:
        """What is not settled, [n] int16."""
        return np.frombuffer(bytes(self._kept), np.int16)
