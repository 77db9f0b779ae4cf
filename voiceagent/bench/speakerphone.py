"""Telephones whose microphone hears otherwise while the agent sounds: with it, or lower. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from audio.pcm import Samples
from voiceagent.bench.loudspeaker import Loudspeaker

REFLECTIONS = ((0.07, 1 / 3), (0.11, 1 / 8))
"""Seconds until the agent's voice is back, and how loud it is then: straight, and from a wall."""

SUPPRESSED_S = 0.2
"""How long an echo suppressor goes on after the agent, for what rings on and for the way of the sound."""
SOUNDS = 100
"""A sample from here on, of 32,768, is loud enough to be suppressed."""


class Microphone(Protocol):
    """What a telephone makes of its caller's voice."""

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """What is sent for the caller's voice [n], spoken from `from_s` on."""
        ...


Telephone = Callable[[Loudspeaker, int], Microphone]
"""Makes the microphone of one call, which knows what its loudspeaker plays, at a rate in Hz."""


class EchoSuppressor:
    """Sends nothing of the agent, and the caller lower by `lower_db` while the agent sounds."""

    def __init__(self, loudspeaker: Loudspeaker, rate_hz: int, lower_db: float) -> None:
        self._loudspeaker = loudspeaker
        self._gain = 10 ** (-lower_db / 20)

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """The caller's voice [n], spoken from `from_s` on, lower where the agent sounded until shortly."""
        played = zip(reversed(self._loudspeaker.begins_s), reversed(self._loudspeaker.frames), strict=True)
        for begin_s, frame in played:
            if begin_s < from_s - SUPPRESSED_S:
                break
            if begin_s <= from_s and np.abs(frame.astype(np.int32)).max(initial=0) >= SOUNDS:
                lower: Samples = np.rint(voice * self._gain).astype(np.int16)
                return lower
        return voice


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
