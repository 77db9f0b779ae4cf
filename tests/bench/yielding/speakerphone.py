"""Telephones whose microphone changes while the agent speaks: with echo, or attenuated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from yielding.loudspeaker import Loudspeaker

from audio.pcm import Samples
from audio.surroundings import gain, in_random_room, samples_of

REFLECTIONS = ((0.07, 1 / 3), (0.11, 1 / 8))
"""Delays in seconds of the agent's echo, and its gains: direct, and from a wall."""

ROOM_S = 0.4
"""Length of a room's impulse response."""
SUPPRESSED_S = 0.2
"""Time for which an echo suppressor stays active after the agent, for reverberation and network delay."""
SOUNDS = 100
"""Amplitude that activates the suppressor, of 32,768."""


class Microphone(Protocol):
    """A telephone's processing of the caller's voice."""

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """Return the audio sent for the caller's voice [n], spoken from `from_s` on."""
        ...


Telephone = Callable[[Loudspeaker, int], Microphone]
"""Creates the microphone of one call from its loudspeaker and a rate in Hz."""


class EchoSuppressor:
    """Attenuates the caller by `lower_db` while the agent speaks, and sends no echo."""

    def __init__(self, loudspeaker: Loudspeaker, rate_hz: int, lower_db: float) -> None:
        self._loudspeaker = loudspeaker
        self._gain = 10 ** (-lower_db / 20)

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """Return the caller's voice [n], spoken from `from_s` on, attenuated if the agent spoke recently."""
        played = zip(reversed(self._loudspeaker.begins_s), reversed(self._loudspeaker.frames), strict=True)
        for begin_s, frame in played:
            if begin_s < from_s - SUPPRESSED_S:
                break
            if begin_s <= from_s and np.abs(frame.astype(np.int32)).max(initial=0) >= SOUNDS:
                lower: Samples = np.rint(voice * self._gain).astype(np.int16)
                return lower
        return voice


class Speakerphone:
    """A microphone near a loudspeaker, at `rate_hz`; times are of the loudspeaker's clock."""

    def __init__(self, loudspeaker: Loudspeaker, rate_hz: int) -> None:
        self._loudspeaker = loudspeaker
        self._rate_hz = rate_hz

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """Return the caller's voice [n], spoken from `from_s` on, with the echo of the agent."""
        heard = voice.astype(np.float64)
        for delay_s, share in REFLECTIONS:
            heard += share * self._played(from_s - delay_s, len(voice))
        mixed: Samples = np.rint(heard).clip(-32_768, 32_767).astype(np.int16)
        return mixed

    def _played(self, from_s: float, samples: int) -> Samples:
        """Return what the loudspeaker played from then on [samples]."""
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


class RoomEcho(Speakerphone):
    """A microphone in a room with the loudspeaker, on a line with a delay.

    level_db: of the echo below the agent's audio. delay_s: of its direct sound. random: of the room's impulse
    response; None without reverberation.
    """

    def __init__(
        self,
        loudspeaker: Loudspeaker,
        rate_hz: int,
        level_db: float,
        delay_s: float,
        random: np.random.Generator | None,
    ) -> None:
        super().__init__(loudspeaker, rate_hz)
        impulse = np.zeros(round(ROOM_S * rate_hz))
        impulse[0] = 1.0
        if random is not None:
            impulse = in_random_room(impulse, random, rate_hz)
        self._impulse = impulse * gain(-level_db)
        self._delay_s = delay_s

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """Return the caller's voice [n], spoken from `from_s` on, with the echo of the agent."""
        reach = len(self._impulse) - 1
        played = self._played(from_s - self._delay_s - reach / self._rate_hz, len(voice) + reach)
        length = 1 << (len(played) + reach).bit_length()
        spectrum = np.fft.rfft(played, length) * np.fft.rfft(self._impulse, length)
        echo = np.fft.irfft(spectrum, length)[reach : reach + len(voice)]
        return samples_of(voice + echo)
