"""What the network learns from: recordings under made rooms, lines and noises, and where their voices end.

A voice is labelled by the energy of the recording before anything is added to it, as
`tests/bench/voice_end.py` labels it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES
from audio.pcm import AudioFormat, Samples, decode, encode
from audio.resample import resample

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
"""How often."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """12 s of a call. sound: [n] as it is heard. since_s: at the end of each window, how long ago the voice
    ended, at most 0 while it goes on. silence_s: how long it is silent there altogether.
    """

    sound: Samples
    since_s: Floats
    silence_s: Floats


def examples(recordings: Sequence[Samples], random: np.random.Generator) -> Iterator[Example]:
    """Recordings, 16 kHz each, one after the other in calls of 12 s."""
    waiting = [recordings[index] for index in random.permutation(len(recordings))]
    while waiting:
        source = _conversation(waiting, random)
        by_telephone = random.random() < BY_TELEPHONE
        voice = spoken(_band(source, 300, 3_400) if by_telephone else source)
        heard = _heard(source, recordings, random)
        if by_telephone:
            heard = _by_telephone(heard, random)
        shift = int(random.integers(WINDOW_SAMPLES))
        ends_s = (np.arange(1, WINDOWS + 1) * WINDOW_SAMPLES - shift) / SAMPLE_RATE_HZ
        yield Example(_samples(np.pad(heard, (shift, 0))[:LENGTH]), *_since(voice, ends_s))


def spoken(source: Floats) -> NDArray[np.bool_]:
    """Which 10 ms of the sound [n] are voice."""
    length, around = round(LABEL_S * SAMPLE_RATE_HZ), round(1 / LABEL_S)
    energy = np.mean(source[: len(source) // length * length].reshape(-1, length) ** 2, axis=1)
    loudest = sliding_window_view(np.pad(energy, around), 2 * around + 1).max(axis=1)
    loud: NDArray[np.bool_] = energy > np.maximum(loudest, energy.max() * _power(-FAINTER_DB)) * _power(
        -BELOW_DB
    )
    return loud


def _since(voice: NDArray[np.bool_], at_s: Floats) -> tuple[Floats, Floats]:
    """Seconds since the voice ended and how long the silence lasts, at these times."""
    begins_s = np.concatenate([[-NEVER_S], np.flatnonzero(voice) * LABEL_S, [NEVER_S]])
    following = np.searchsorted(begins_s, at_s - 1e-9)
    ended_s = begins_s[following - 1] + LABEL_S
    return at_s - ended_s, begins_s[following] - ended_s


def _conversation(waiting: list[Samples], random: np.random.Generator) -> Floats:
    """Recordings with silences between them, as long as there is room."""
    source, at = np.zeros(LENGTH), int(random.uniform(0, 0.8) * SAMPLE_RATE_HZ)
    while waiting and at < LENGTH - SAMPLE_RATE_HZ // 2:
        sound = waiting.pop().astype(np.float64)
        fade = np.minimum(1, np.arange(len(sound)) / 320)
        sound *= fade * fade[::-1] * _gain(random.uniform(-3, 3)) * PEAK / max(200, np.abs(sound).max())
        source[at : at + len(sound)] = sound[: LENGTH - at]
        low_s, high_s = (0.15, 0.4) if random.random() < 0.5 else (0.4, 1.6)
        at += len(sound) + int(random.uniform(low_s, high_s) * SAMPLE_RATE_HZ)
    return source


def _heard(source: Floats, recordings: Sequence[Samples], random: np.random.Generator) -> Floats:
    """In a room, a noise, both or neither, and at any level."""
    level = np.sqrt(np.percentile(np.mean(source.reshape(-1, 160) ** 2, axis=1), 90)) + 1
    heard = _in_a_room(source, random) if random.random() < 0.6 else source
    if random.random() < 0.38:
        noise, below_db = _noise(random), random.uniform(6, 35)
        if random.random() < OTHERS_TALK:
            others = _in_a_room(_others(recordings, random), random)
            noise = 0.3 * noise + others / (others.std() + 1e-9) * random.uniform(0.3, 1)
            below_db = max(below_db, 12)
        heard = heard + noise * level * _gain(-below_db)
    elif random.random() < 0.7:
        heard = heard + _noise(random) * level * _gain(-random.uniform(40, 70))
    return heard * _gain(random.uniform(-24, 6))


def _in_a_room(sound: Floats, random: np.random.Generator) -> Floats:
    """Polack's model (1988), noise that dies away behind the direct sound, in three of five the sooner the
    higher it is, and in half with some early echoes.
    """
    ringing_s, direct_to_room_db = random.uniform(0.15, 1.0), random.uniform(-8, 12)
    at_s = np.arange(round(ringing_s * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    room = random.normal(0, 1, len(at_s))
    if random.random() < 0.6:
        hz = np.fft.rfftfreq(len(room), 1 / SAMPLE_RATE_HZ)
        dull = np.fft.rfft(room) / np.sqrt(1 + (hz / random.uniform(800, 4_000)) ** 2)
        late = np.clip(at_s / (ringing_s * random.uniform(0.3, 0.95)), 0, 1)
        room = room * (1 - late) + 2 * late * np.fft.irfft(dull, len(room))
    room *= 10 ** (-3 * at_s / ringing_s)
    begin = round(random.uniform(0.001, 0.012) * SAMPLE_RATE_HZ)
    room[:begin] = 0
    if random.random() < 0.5:
        echoes = random.integers(begin, min(len(room), round(0.04 * SAMPLE_RATE_HZ)), random.integers(3, 10))
        room[echoes] += 5 * random.normal(0, 1, len(echoes)) * 10 ** (-3 * at_s[echoes] / ringing_s)
    room *= _gain(-direct_to_room_db) / np.sqrt(np.sum(room**2))
    room[0] = 1.0
    length = 1 << (len(sound) + len(room)).bit_length()
    heard = np.fft.irfft(np.fft.rfft(sound, length) * np.fft.rfft(room, length), length)[: len(sound)]
    as_loud: Floats = heard / np.sqrt(1 + _power(-direct_to_room_db))
    return as_loud


def _noise(random: np.random.Generator) -> Floats:
    """From white to brown, now and then with a hum, or louder and lower; its standard deviation is 1."""
    spectrum = np.fft.rfft(random.normal(0, 1, LENGTH))
    spectrum /= np.maximum(1, np.arange(len(spectrum))) ** random.uniform(0, 0.6)
    if random.random() < 0.3:
        hum_hz = random.choice([50, 60, 100, 120]) * np.arange(1, 5)
        spectrum[hum_hz * LENGTH_S] *= random.uniform(5, 60, 4)
    noise = np.fft.irfft(spectrum, LENGTH)
    if random.random() < 0.3:
        turns = np.arange(LENGTH) / LENGTH * LENGTH_S * random.uniform(0.17, 1) + random.random()
        noise *= 10 ** (random.uniform(1, 5) * np.sin(2 * np.pi * turns) / 20)
    even: Floats = noise / noise.std()
    return even


def _others(recordings: Sequence[Samples], random: np.random.Generator) -> Floats:
    """One to four who talk elsewhere."""
    talk = np.zeros(LENGTH)
    for _ in range(random.integers(1, 5)):
        sound, at = recordings[int(random.integers(len(recordings)))], int(random.integers(LENGTH))
        part = sound[: LENGTH - at] / max(1.0, float(sound.std()))
        talk[at : at + len(part)] += part
    return talk


def _by_telephone(sound: Floats, random: np.random.Generator) -> Floats:
    """The band of some telephone, and G.711."""
    band = _samples(_band(sound, random.uniform(100, 350), random.uniform(3_200, 3_700)))
    line = AudioFormat.PCMU
    there = decode(encode(resample(band, SAMPLE_RATE_HZ, line.rate_hz), line), line)
    back = resample(there, line.rate_hz, SAMPLE_RATE_HZ)[: len(sound)]
    return np.pad(back, (0, len(sound) - len(back))).astype(np.float64)


def _band(sound: Floats, low_hz: float, high_hz: float) -> Floats:
    spectrum, hz = np.fft.rfft(sound), np.fft.rfftfreq(len(sound), 1 / SAMPLE_RATE_HZ)
    spectrum /= np.sqrt(1 + (low_hz / np.maximum(hz, 1e-3)) ** 8) * np.sqrt(1 + (hz / high_hz) ** 16)
    return np.fft.irfft(spectrum, len(sound))


def _power(decibels: float) -> float:
    return float(10 ** (decibels / 10))


def _gain(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _samples(sound: Floats) -> Samples:
    clipped: Samples = np.clip(np.rint(sound), -32_768, 32_767).astype(np.int16)
    return clipped
