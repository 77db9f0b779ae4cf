"""Background sounds: audio files, and built-in ones that are generated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples
from audio.resample import resample
from audio.wav import read_wav

MAX_CLIP_S = 600.0
"""Maximum length of a file: 30 MB in memory at the rate of most calls."""
_RATE_HZ = 24_000
_SEED = 20_260_201
"""Built-in sounds are the same in each process."""

_Wave = NDArray[np.float64]


class Clip:
    """A sound to be repeated. name: a built-in one, or a file's path. Raises ValueError if it is empty or too
    long.
    """

    def __init__(self, name: str, samples: Samples, rate_hz: int) -> None:
        if not len(samples) or len(samples) > MAX_CLIP_S * rate_hz:
            seconds = len(samples) / rate_hz
            raise ValueError(f"{name}: {seconds:g} s of audio; allowed: more than 0, up to {MAX_CLIP_S:g} s")
        self.name = name
        self._samples = samples
        self._rate_hz = rate_hz
        self._converted: dict[int, Samples] = {}

    def at(self, rate_hz: int) -> Samples:
        """Return the samples [n] at this rate; converted once."""
        if rate_hz == self._rate_hz:
            return self._samples
        if rate_hz not in self._converted:
            self._converted[rate_hz] = resample(self._samples, self._rate_hz, rate_hz)
        return self._converted[rate_hz]

    @property
    def size_bytes(self) -> int:
        """Size in memory, at all rates so far."""
        return self._samples.nbytes + sum(samples.nbytes for samples in list(self._converted.values()))


def check_sound(sound: object) -> str:
    """Return a sound's name: a built-in one, or the path of an existing file. Raise ValueError otherwise."""
    name = str(sound) if isinstance(sound, str | Path) else ""
    if name in _BUILT_IN or (name and Path(name).is_file()):
        return name
    builtin = ", ".join(map(repr, BUILT_IN))
    raise ValueError(f"the sound {sound!r:.200}; allowed: {builtin}, or the path of an audio file")


def read_clip(name: str) -> Clip:
    """Return the clip of a name that `check_sound` returned. Raise OSError if its file cannot be read,
    ValueError if it is no audio or too long.
    """
    if (make := _BUILT_IN.get(name)) is not None:
        return Clip(name, np.rint(make(np.random.default_rng(_SEED))).astype(np.int16), _RATE_HZ)
    return Clip(name, *read_wav(Path(name)))


def _typing(random: np.random.Generator) -> _Wave:
    """Return keys of a keyboard: bursts of 3 to 9, about five a second, with pauses."""
    sound = np.zeros(12 * _RATE_HZ)
    at_s = 0.1
    while at_s < 11.5:
        for _ in range(random.integers(3, 10)):
            _add_key(sound, at_s, random)
            at_s += random.uniform(0.1, 0.26)
        at_s += random.uniform(0.35, 0.9)
    return sound


def _add_key(sound: _Wave, at_s: float, random: np.random.Generator) -> None:
    """Add a key: a click as it goes down, a softer one as it comes up, over the low thud of the case."""
    level = random.uniform(0.6, 1.0)
    for delay_s, share in ((0.0, 1.0), (random.uniform(0.06, 0.09), 0.35)):
        begin = round((at_s + delay_s) * _RATE_HZ)
        times_s = np.arange(round(0.03 * _RATE_HZ)) / _RATE_HZ
        click = random.normal(size=len(times_s)) * np.exp(-times_s / 0.0025)
        thud = np.sin(2 * np.pi * random.uniform(280, 420) * times_s) * np.exp(-times_s / 0.008)
        key = (900 * click + 500 * thud) * level * share
        end = min(begin + len(key), len(sound))
        sound[begin:end] += key[: end - begin]


def _hold(random: np.random.Generator) -> _Wave:
    """Return a soft melody of sines in C major, each note with two overtones and a slow decay."""
    beat_s = 0.6
    notes = (60, 67, 72, 76, 74, 67, 71, 74, 69, 64, 72, 76, 65, 69, 72, 67)  # MIDI numbers
    sound = np.zeros(round(len(notes) * beat_s * _RATE_HZ))
    times_s = np.arange(round(4 * beat_s * _RATE_HZ)) / _RATE_HZ
    envelope = np.minimum(times_s / 0.03, 1.0) * np.exp(-times_s / 0.7) * (1 - times_s / times_s[-1])
    for number, note in enumerate(notes):
        hz = 440 * 2 ** ((note - 69) / 12)
        tone = sum(share * np.sin(2 * np.pi * hz * n * times_s) for n, share in ((1, 1), (2, 0.3), (3, 0.1)))
        at = (round(number * beat_s * _RATE_HZ) + np.arange(len(times_s))) % len(sound)  # across the seam
        sound[at] += 1_300 * envelope * tone
    return sound


def _room(random: np.random.Generator) -> _Wave:
    """Return the tone of an office: noise that falls by 6 dB an octave above 120 Hz. It has no seam, as it is
    a sum of whole periods.
    """
    samples = 10 * _RATE_HZ
    hz = np.fft.rfftfreq(samples, 1 / _RATE_HZ)
    shape = np.where(hz < 40, 0.0, 1 / np.maximum(hz, 120))
    phases = random.uniform(0, 2 * np.pi, len(hz))
    noise = np.fft.irfft(shape * np.exp(1j * phases), samples)
    loud: _Wave = noise * (70 / np.sqrt(np.mean(noise**2)))
    return loud


_BUILT_IN: dict[str, Callable[[np.random.Generator], _Wave]] = {
    "typing": _typing,
    "hold": _hold,
    "room": _room,
}
BUILT_IN = tuple(_BUILT_IN)
"""Names of the built-in sounds."""
