"""Mixer of background sounds: music on hold, room tone, typing.

Under speech the sounds are ducked. Speech is never changed: where the sum would exceed full scale, the sounds
of that frame are lowered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples

DUCKED_GAIN = 10 ** (-12 / 20)
"""Gain of the sounds under speech: audible, but no effort for the listener."""
DUCK_S = 0.04
"""Duration of the glide from full gain to silence at the beginning of speech."""
RISE_S = 1.0
"""The same in the other direction: slow, so that the sounds do not jump up in the pauses of speech."""
FADE_S = 0.02
"""Duration of the fade at the beginning and the end of a sound, so that neither clicks."""
_LIMITS = np.iinfo(np.int16)

_Mix = NDArray[np.float64]


@dataclass(slots=True)
class _Sound:
    """A sound that is played: samples [n], repeated; the position of the next one; gain now and wanted."""

    samples: Samples
    volume: float
    position: int = 0
    gain: float = 0.0
    wanted: float = 1.0

    def pop(self, length: int) -> Samples:
        begin, end = self.position, self.position + length
        self.position = end % len(self.samples)
        if end <= len(self.samples):
            return self.samples[begin:end]
        return self.samples.take(np.arange(begin, end), mode="wrap")


class Mixer:
    """Sounds of one call at `rate_hz`, each under a number."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._sounds: dict[int, _Sound] = {}
        self._gain = 1.0  # of all sounds

    @property
    def silent(self) -> bool:
        """True if no sound is played, not even its fade."""
        return not self._sounds

    def start(self, number: int, samples: Samples, volume: float = 1.0, position: int = 0) -> None:
        """Play samples [n], not empty, again and again from `position` on, at this volume, 0 to 1."""
        self._sounds[number] = _Sound(samples, volume, position % len(samples))

    def stop(self, number: int) -> int:
        """Fade a sound out within the next frame. Return its position, 0 for an unknown one."""
        sound = self._sounds.get(number)
        if sound is None:
            return 0
        sound.wanted = 0.0
        return sound.position

    def under(self, speech: Samples) -> Samples:
        """Return a frame of speech [n] with the sounds, ducked."""
        mix = self._next(len(speech), DUCKED_GAIN)
        total = speech + mix
        if total.max() > _LIMITS.max or total.min() < _LIMITS.min:
            mix *= _room(speech, mix)
            total = np.clip(speech + mix, _LIMITS.min, _LIMITS.max)  # up to rounding
        mixed: Samples = np.rint(total).astype(np.int16)
        return mixed

    def alone(self, length: int, ducked: bool) -> Samples:
        """Return a frame [length] of the sounds without speech. ducked: speech is only held."""
        mix = np.clip(self._next(length, DUCKED_GAIN if ducked else 1.0), _LIMITS.min, _LIMITS.max)
        frame: Samples = np.rint(mix).astype(np.int16)
        return frame

    def _next(self, length: int, gain: float) -> _Mix:
        """Return the next samples [length] of all sounds, and advance them. gain: the one to glide to."""
        mix = np.zeros(length)
        for number, sound in list(self._sounds.items()):
            ramp, sound.gain = self._ramp(sound.gain, sound.wanted, FADE_S, length)
            mix += sound.pop(length) * (ramp * sound.volume)
            if sound.gain == sound.wanted == 0.0:
                del self._sounds[number]
        glide_s = DUCK_S if gain < self._gain else RISE_S
        ramp, self._gain = self._ramp(self._gain, gain, glide_s, length)
        return mix * ramp

    def _ramp(self, gain: float, wanted: float, full_s: float, length: int) -> tuple[_Mix | float, float]:
        """Return the gains [length] towards the wanted one, and the last. full_s: seconds of a full glide."""
        if gain == wanted:
            return gain, gain
        steps = np.arange(1, length + 1) / (full_s * self.rate_hz)
        ramp: _Mix = np.minimum(gain + steps, wanted) if wanted > gain else np.maximum(gain - steps, wanted)
        return ramp, float(ramp[-1])


def _room(speech: Samples, mix: _Mix) -> float:
    """Return the largest gain, 0 to 1, with which `mix` fits over `speech`, both [n]."""
    limit = np.where(mix > 0, _LIMITS.max, _LIMITS.min).astype(float)
    loud = np.abs(mix) >= 1.0  # less does not exceed by more than rounding
    room = (limit - speech)[loud] / mix[loud]
    return float(np.clip(room.min(initial=1.0), 0.0, 1.0))
