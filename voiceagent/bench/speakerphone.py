"""A telephone that hears its own loudspeaker: the agent comes back with the caller's voice. Pure."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples
from voiceagent.bench.loudspeaker import Loudspeaker

REFLECTIONS = ((0.07, 1 / 3), (0.11, 1 / 8))
"""Seconds until the agent's voice is back, and how loud it is then: straight, and from a wall."""


class Speakerphone:
    """The microphone beside a loudspeaker, at `rate_hz`; times are of its clock."""

    def __init__(self, loudspeaker: Loudspeaker, rate_hz: int) -> None:
        self._loudspeaker = loudspeaker
        self._rate_hz = rate_hz

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """The caller's voice [n], spoken from `from_s` on, with the echo of what was played before."""
        heard = voice.astype(np.float64)
        for delay_s, gain in REFLECTIONS:
            heard += gain * self._played(from_s - delay_s, len(voice))
        mixed: Samples = np.rint(heard).clip(-32_768, 32_767).astype(np.int16)
        return mixed

    def _played(self, from_s: float, samples: int) -> Samples:
        """What the loudspeaker played from then on [samples]."""
        played = np.zeros(samples, np.int16)
        until_s = from_s + samples / self._rate_hz
        for begin_s, frame in zip(
            reversed(self._loudspeaker.begins_s), reversed(self._loudspeaker.frames), strict=True
        ):
            if begin_s >= until_s:
                continue
            at = round((begin_s - from_s) * self._rate_hz)
            if at + len(frame) <= 0:
                break
            part = frame[max(0, -at) : samples - at]
            played[max(0, at) : max(0, at) + len(part)] = part
        return played
