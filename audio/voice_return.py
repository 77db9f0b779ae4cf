"""Detects, frame by frame, that a paused voice returns, by its loudness alone.

Voice detection needs a window of 32 ms and several of them to be sure. That is late for audio that must not
sound over a word and may be dropped for no reason, such as a listener's backchannel.
"""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples

MIN_PEAK = 150.0
"""Least peak of a voice, -47 dB of full scale: below it is the noise of a quiet line."""
RISE = 2.5
"""Least ratio of a returning voice's peak to that of the pause, 8 dB."""
FORGET = 1.03
"""Growth of the pause's level per frame, so that louder surroundings become the new pause: 8 dB in 0.6 s."""


class VoiceReturn:
    """Level of one line's pauses."""

    def __init__(self) -> None:
        self._floor = float(np.iinfo(np.int16).max)

    def push(self, frame: Samples) -> bool:
        """Return True if this frame, int16 [n] of about 20 ms, is much louder than the pause before it."""
        if not len(frame):
            return False
        peak = float(max(int(frame.max()), -int(frame.min())))
        returned = peak >= MIN_PEAK and peak >= RISE * self._floor
        self._floor = min(peak, self._floor * FORGET)
        return returned
