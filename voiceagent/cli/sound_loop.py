"""The sound between a microphone, a call and a loudspeaker, 20 ms at a time. Pure."""

from __future__ import annotations

from collections import deque

import numpy as np

from audio.pcm import Samples

MAX_WAITING_S = 10.0
"""How much of the microphone's sound waits for a slow network; what is older is dropped."""


class SoundLoop:
    """Microphone to call, call to loudspeaker. rate_hz: of both. block: samples that a device moves at once.

    `exchange` is the device's, from its own thread; the rest is the call's. Each side appends at one end of a
    deque and takes from the other, which needs no lock; a cut may leave the piece that is being played.
    """

    def __init__(self, rate_hz: int, block: int) -> None:
        self._captured: deque[Samples] = deque(maxlen=round(MAX_WAITING_S * rate_hz / block))
        self._playing: deque[Samples] = deque()

    def exchange(self, captured: Samples) -> Samples:
        """Take [n] samples of the microphone; the [n] to play now, silence where there are none."""
        self._captured.append(captured.copy())  # the device uses its buffer again
        played = np.zeros(len(captured), np.int16)
        at = 0
        while at < len(played):
            try:
                piece = self._playing.popleft()
            except IndexError:
                break
            now = piece[: len(played) - at]
            played[at : at + len(now)] = now
            at += len(now)
            if len(now) < len(piece):
                self._playing.appendleft(piece[len(now) :])
        return played

    def take(self) -> Samples | None:
        """The oldest sound of the microphone that was not taken yet; None where there is none."""
        return self._captured.popleft() if self._captured else None

    def play(self, sound: Samples) -> None:
        """Have [n] samples of the agent played behind what waits."""
        self._playing.append(sound)

    def cut(self) -> None:
        """The agent was interrupted: what waits is not played."""
        self._playing.clear()
