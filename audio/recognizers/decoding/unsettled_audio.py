"""Audio of an utterance that a server has not settled yet, kept for resending."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples


class UnsettledAudio:
    """The end of an utterance's audio. Positions are samples since its start.

    Attributes:
        settled: end of the audio whose transcript is final.
        received: end of the audio received.
    """

    def __init__(self) -> None:
        self.settled = 0
        self.received = 0
        self._buffer = bytearray()

    def push(self, sound: Samples) -> None:
        """Add audio, [n] int16."""
        self._buffer += sound.tobytes()
        self.received += len(sound)

    def settle(self, position: int) -> None:
        """Drop the audio before `position`."""
        position = min(max(position, self.settled), self.received)
        del self._buffer[: 2 * (position - self.settled)]
        self.settled = position

    @property
    def rest(self) -> Samples:
        """Unsettled audio, [n] int16."""
        return np.frombuffer(bytes(self._buffer), np.int16)
