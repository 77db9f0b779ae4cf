"""Training examples: recordings in simulated rooms, lines and noises, and where their voices end.

Voices are labelled by the energy of the recording before augmentation, as in `tests/bench/voice_end.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES
from audio.pcm import Samples
from audio.surroundings import (
    Wave,
    band,
    gain,
    in_random_room,
    over_random_telephone,
    random_noise,
    samples_of,
)

LENGTH_S = 12
LENGTH = LENGTH_S * SAMPLE_RATE_HZ
WINDOWS = LENGTH // WINDOW_SAMPLES
LABEL_S = 0.01
BELOW_DB = 20.0
FAINTER_DB = 30.0
"""A voice is within 20 dB of the loudest second around it, and that within 30 of the whole."""
NEVER_S = 99.0
PEAK = 8_000
BY_TELEPHONE, OTHERS_TALK = 0.35, 0.3
"""Shares of examples on a telephone line, and with other talkers."""

_AS_AT_THE_SOURCE_HZ = 300.0, 3_400.0
"""A telephone's band: frequencies outside it must not affect the labels."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """12 s of a call.

    sound: [n], augmented. since_s: at the end of each window, seconds since the voice ended, at most 0 during
    voice. silence_s: total length of the silence there.
    """

    sound: Samples
    since_s: Floats
    silence_s: Floats


def examples(recordings: Sequence[Samples], random: np.random.Generator) -> Iterator[Example]:
    """Yield calls of 12 s made of recordings, 16 kHz each, in random order."""
    waiting = [recordings[index] for index in random.permutation(len(recordings))]
    while waiting:
        source = _conversation(waiting, random)
        by_telephone = random.random() < BY_TELEPHONE
        voice = spoken(band(source, SAMPLE_RATE_HZ, *_AS_AT_THE_SOURCE_HZ) if by_telephone else source)
        heard = _heard(source, recordings, random)
        sound = over_random_telephone(heard, random, SAMPLE_RATE_HZ) if by_telephone else samples_of(heard)
        shift = int(random.integers(WINDOW_SAMPLES))
        ends_s = (np.arange(1, WINDOWS + 1) * WINDOW_SAMPLES - shift) / SAMPLE_RATE_HZ
        yield Example(np.pad(sound, (shift, 0))[:LENGTH], *_since(voice, ends_s))


def spoken(source: Wave) -> NDArray[np.bool_]:
    """Return which 10 ms frames of the sound [n] are voice."""
    length, around = round(LABEL_S * SAMPLE_RATE_HZ), round(1 / LABEL_S)
    energy = np.mean(source[: len(source) // length * length].reshape(-1, length) ** 2, axis=1)
    loudest = sliding_window_view(np.pad(energy, around), 2 * around + 1).max(axis=1)
    around_it = np.maximum(loudest, energy.max() * gain(-FAINTER_DB) ** 2)
    loud: NDArray[np.bool_] = energy > around_it * gain(-BELOW_DB) ** 2
    return loud


def _since(voice: NDArray[np.bool_], at_s: Floats) -> tuple[Floats, Floats]:
    """Return the seconds since the voice ended and the length of the silence, at these times."""
    begins_s = np.concatenate([[-NEVER_S], np.flatnonzero(voice) * LABEL_S, [NEVER_S]])
    following = np.searchsorted(begins_s, at_s - 1e-9)
    ended_s = begins_s[following - 1] + LABEL_S
    return at_s - ended_s, begins_s[following] - ended_s


def _conversation(waiting: list[Samples], random: np.random.Generator) -> Wave:
    """Join recordings with silences between them, up to 12 s."""
    source, at = np.zeros(LENGTH), int(random.uniform(0, 0.8) * SAMPLE_RATE_HZ)
    while waiting and at < LENGTH - SAMPLE_RATE_HZ // 2:
        sound = waiting.pop().astype(np.float64)
        fade = np.minimum(1, np.arange(len(sound)) / 320)
        sound *= fade * fade[::-1] * gain(random.uniform(-3, 3)) * PEAK / max(200, np.abs(sound).max())
        source[at : at + len(sound)] = sound[: LENGTH - at]
        low_s, high_s = (0.15, 0.4) if random.random() < 0.5 else (0.4, 1.6)
        at += len(sound) + int(random.uniform(low_s, high_s) * SAMPLE_RATE_HZ)
    return source


def _heard(source: Wave, recordings: Sequence[Samples], random: np.random.Generator) -> Wave:
    """Put a sound in a room, in noise, both or neither, at a random level."""
    level = np.sqrt(np.percentile(np.mean(source.reshape(-1, 160) ** 2, axis=1), 90)) + 1
    heard = in_random_room(source, random, SAMPLE_RATE_HZ) if random.random() < 0.6 else source
    if random.random() < 0.38:
        noise, below_db = random_noise(LENGTH, random, SAMPLE_RATE_HZ), random.uniform(6, 35)
        if random.random() < OTHERS_TALK:
            others = in_random_room(_others(recordings, random), random, SAMPLE_RATE_HZ)
            noise = 0.3 * noise + others / (others.std() + 1e-9) * random.uniform(0.3, 1)
            below_db = max(below_db, 12)
        heard = heard + noise * level * gain(-below_db)
    elif random.random() < 0.7:
        heard = heard + random_noise(LENGTH, random, SAMPLE_RATE_HZ) * level * gain(-random.uniform(40, 70))
    return heard * gain(random.uniform(-24, 6))


def _others(recordings: Sequence[Samples], random: np.random.Generator) -> Wave:
    """Return the voices of one to four other talkers."""
    talk = np.zeros(LENGTH)
    for _ in range(random.integers(1, 5)):
        sound, at = recordings[int(random.integers(len(recordings)))], int(random.integers(LENGTH))
        part = sound[: LENGTH - at] / max(1.0, float(sound.std()))
        talk[at : at + len(part)] += part
    return talk
