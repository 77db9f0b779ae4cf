"""Buffers between a microphone, a call and a loudspeaker, 20 ms at a time."""

from __future__ import annotations

from collections import deque

import numpy as np

from audio.pcm import Samples

MAX_WAITING_S = 10.0
"""Maximum microphone audio to buffer for a slow network; the oldest is dropped."""


class SoundLoop:
    """Microphone to call, and call to loudspeaker.

    rate_hz: of both. block: samples per callback of the device. `exchange` runs on the device's thread, the
    rest on the call's. Each side appends at one end of a deque and pops from the other, which needs no lock;
    a cut may leave the chunk that is being played.
    """

    def __init__(self, rate_hz: int, block: int) -> None:
        self._captured: deque[Samples] = deque(maxlen=round(MAX_WAITING_S * rate_hz / block))
        self._playing: deque[Samples] = deque()

    def exchange(self, captured: Samples) -> Samples:
        """Add [n] captured samples; return [n] to play, silence if there are none."""
        self._captured.append(captured.copy())  # the device reuses its buffer
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

    def pop_captured(self) -> Samples | None:
        """Remove and return the oldest captured chunk; None if there is none."""
        return self._captured.popleft() if self._captured else None

    def play(self, sound: Samples) -> None:
        """Queue [n] samples of the agent."""
        self._playing.append(sound)

    def clear_playback(self) -> None:
        """Drop queued audio: the agent was interrupted."""
        self._playing.clear()
