"""Noises of a caller's surroundings: coughs, laughs, typing, music, other talkers.

Synthesized, as there are no recordings. Each has the features that a voice detector uses, such as the rhythm
of a laugh and the pitch of a tune.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray
from people.conditions import ACROSS_THE_ROOM_DB, in_a_room

from audio.pcm import Samples

PEAK = 12_000
"""Peak of a noise made by the caller, of 32,768."""
COUGH_S = (0.08, 0.3)
LASTS_S = (1.0, 2.5)
"""Range of the duration of all noises but coughs."""
OTHERS_DB = (-30.0, -20.0)
"""Range of the level of other talkers relative to the caller."""
_LAUGH_HZ = (160.0, 300.0)
_LAUGH_BURSTS_HZ = (4.0, 5.5)
_KEYS_HZ = (6.0, 11.0)
_SCALE = (0, 2, 4, 7, 9, 12)  # semitones
_BEAT_S = 0.3

Floats = NDArray[np.float64]


def cough(random: Random, rate_hz: int) -> Samples:
    """Return a burst of noise [n] with a sudden onset and a decay, 80 to 300 ms long."""
    seconds = random.uniform(*COUGH_S)
    noise = _white(random, seconds, rate_hz)
    fading = np.exp(-np.linspace(0, 4, len(noise))) * np.minimum(1, np.arange(len(noise)) / (0.005 * rate_hz))
    return _loud(noise * fading)


def laugh(random: Random, rate_hz: int) -> Samples:
    """Return bursts of a falling voice, with breath between them (Bachorowski et al., 2001)."""
    seconds = random.uniform(*LASTS_S)
    at_s = np.arange(round(seconds * rate_hz)) / rate_hz
    hz = random.uniform(*_LAUGH_HZ) * np.exp(-0.25 * at_s)
    phase = 2 * np.pi * np.cumsum(hz) / rate_hz
    voice = sum(np.sin(n * phase) / n for n in range(1, 20))
    bursts = np.maximum(0, np.sin(2 * np.pi * random.uniform(*_LAUGH_BURSTS_HZ) * at_s)) ** 2
    breath = 0.3 * _white(random, seconds, rate_hz)[: len(at_s)]
    return _loud((voice * bursts + breath * (0.2 + bursts)) * np.exp(-0.8 * at_s))


def typing(random: Random, rate_hz: int) -> Samples:
    """Return key clicks of 5 ms, 6 to 11 a second."""
    sound = np.zeros(round(random.uniform(*LASTS_S) * rate_hz))
    click = np.exp(-np.linspace(0, 5, round(0.005 * rate_hz)))
    at = 0
    while at + len(click) < len(sound):
        sound[at : at + len(click)] += (
            random.uniform(0.3, 1) * click * _white(random, 1, rate_hz)[: len(click)]
        )
        at += round(rate_hz / random.uniform(*_KEYS_HZ))
    return _loud(sound, PEAK // 2)


def music(random: Random, rate_hz: int) -> Samples:
    """Return a tune of plucked notes over a held chord."""
    at_s = np.arange(round(random.uniform(*LASTS_S) * rate_hz)) / rate_hz
    base_hz = random.uniform(110, 220)
    chord_hz = base_hz * 2 ** (np.array([[0], [4], [7]]) / 12)
    sound: Floats = 0.2 * np.sin(2 * np.pi * chord_hz * at_s).sum(axis=0)
    beat = round(_BEAT_S * rate_hz)
    for begin in range(0, len(at_s), beat):
        within_s = at_s[: len(at_s[begin : begin + beat])]
        hz = 2 * base_hz * 2 ** (random.choice(_SCALE) / 12)
        note = sum(np.sin(2 * np.pi * n * hz * within_s) / n**2 for n in range(1, 6))
        sound[begin : begin + beat] += note * np.exp(-6 * within_s)
    return _loud(sound, PEAK // 3)


def others(random: Random, rate_hz: int, voices: Sequence[Samples], callers_peak: int) -> Samples:
    """Return two of these voices at once, as quiet and reverberant as people across the room.

    callers_peak: peak of the caller's audio.
    """
    seconds = random.uniform(*LASTS_S)
    sound = np.zeros(round(seconds * rate_hz))
    for voice in random.sample(list(voices), min(2, len(voices))):
        piece = np.resize(voice[: len(sound)], len(sound)).astype(np.float64)
        sound += piece / max(1.0, float(np.abs(piece).max()))
    heard = in_a_room(sound, ACROSS_THE_ROOM_DB, rate_hz)[: len(sound)]
    return _loud(heard, round(callers_peak * 10 ** (random.uniform(*OTHERS_DB) / 20)))


MADE: dict[str, Callable[[Random, int], Samples]] = {
    "cough": cough,
    "laugh": laugh,
    "typing": typing,
    "music": music,
}


def _white(random: Random, seconds: float, rate_hz: int) -> Floats:
    noise: Floats = np.random.default_rng(random.randrange(2**32)).normal(0, 1, round(seconds * rate_hz))
    return noise


def _loud(sound: Floats, peak: int = PEAK) -> Samples:
    loud: Samples = np.rint(sound * peak / np.abs(sound).max()).astype(np.int16)
    return loud
