"""Simulated rooms, telephone lines and noises, for training and for benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audio.pcm import AudioFormat, Samples, decode, encode
from audio.resample import resample

Wave = NDArray[np.float64]
"""Samples [n], in the range of 16 bits."""

RINGING_S, DIRECT_TO_ROOM_DB = (0.15, 1.0), (-8.0, 12.0)
"""Ranges of random rooms: reverberation time (60 dB decay) in seconds, and direct-to-reverberant ratio."""
FIRST_ECHO_S, EARLY_S = (0.001, 0.012), 0.04
"""Range of a room's first echo, and the time until which single echoes may stand out."""
DULL_SHARE, ECHO_SHARE = 0.6, 0.5
"""Shares of rooms that absorb high frequencies faster, and in which single echoes stand out."""
LINE_HZ = (100.0, 350.0), (3_200.0, 3_700.0)
"""Ranges of the lower and the upper band limit of telephones."""
HUM_SHARE, SWELL_SHARE = 0.3, 0.3
"""Shares of noises that contain a hum, and that swell and fade."""


def in_random_room(sound: Wave, random: np.random.Generator, rate_hz: int) -> Wave:
    """Return the sound in a random room: Polack's model (1988), decaying noise after the direct sound.

    In most rooms high frequencies decay faster.
    """
    ringing_s, direct_to_room_db = random.uniform(*RINGING_S), random.uniform(*DIRECT_TO_ROOM_DB)
    at_s = np.arange(round(ringing_s * rate_hz)) / rate_hz
    room = random.normal(0, 1, len(at_s))
    if random.random() < DULL_SHARE:
        hz = np.fft.rfftfreq(len(room), 1 / rate_hz)
        dull = np.fft.rfft(room) / np.sqrt(1 + (hz / random.uniform(800, 4_000)) ** 2)
        late = np.clip(at_s / (ringing_s * random.uniform(0.3, 0.95)), 0, 1)
        room = room * (1 - late) + 2 * late * np.fft.irfft(dull, len(room))
    room *= 10 ** (-3 * at_s / ringing_s)
    begin = round(random.uniform(*FIRST_ECHO_S) * rate_hz)
    room[:begin] = 0
    if random.random() < ECHO_SHARE:
        echoes = random.integers(begin, min(len(room), round(EARLY_S * rate_hz)), random.integers(3, 10))
        room[echoes] += 5 * random.normal(0, 1, len(echoes)) * 10 ** (-3 * at_s[echoes] / ringing_s)
    return with_room(sound, room, direct_to_room_db)[: len(sound)]


def with_room(sound: Wave, room: Wave, direct_to_room_db: float) -> Wave:
    """Return the sound with reverberation and its tail, at the same overall level.

    room: impulse response without the direct sound.
    """
    room = room * (gain(-direct_to_room_db) / np.sqrt(np.sum(room**2)))
    room[0] = 1.0
    whole = len(sound) + len(room)
    length = 1 << whole.bit_length()  # a power of two, for a fast FFT
    heard = np.fft.irfft(np.fft.rfft(sound, length) * np.fft.rfft(room, length), length)[:whole]
    as_loud: Wave = heard / np.sqrt(1 + gain(-direct_to_room_db) ** 2)
    return as_loud


TELEPHONE_HZ = (300.0, 3_400.0)
"""Band of a telephone line (ITU-T G.712)."""


def over_random_telephone(sound: Wave, random: np.random.Generator, rate_hz: int) -> Samples:
    """Return the sound over a telephone line with a random band."""
    low_hz, high_hz = (random.uniform(*between_hz) for between_hz in LINE_HZ)
    return over_telephone(sound, rate_hz, low_hz, high_hz)


def over_telephone(sound: Wave, rate_hz: int, low_hz: float, high_hz: float) -> Samples:
    """Return the sound over a telephone line with this band: 8 kHz, G.711, and back."""
    line = AudioFormat.PCMU
    narrow = resample(samples_of(band(sound, rate_hz, low_hz, high_hz)), rate_hz, line.rate_hz)
    back = resample(decode(encode(narrow, line), line), line.rate_hz, rate_hz)[: len(sound)]
    return np.pad(back, (0, len(sound) - len(back)))


def band(sound: Wave, rate_hz: int, low_hz: float, high_hz: float) -> Wave:
    """Return the sound filtered to a band by a zero-phase Butterworth response."""
    spectrum, hz = np.fft.rfft(sound), np.fft.rfftfreq(len(sound), 1 / rate_hz)
    spectrum /= np.sqrt(1 + (low_hz / np.maximum(hz, 1e-3)) ** 8) * np.sqrt(1 + (hz / high_hz) ** 16)
    return np.fft.irfft(spectrum, len(sound))


def stretched(sound: Wave, factor: float) -> Wave:
    """Return a sound of 24 kHz, `factor` times as fast at the same pitch: overlapping windows, each shifted
    to the best match.

    WSOLA (Verhelst and Roelands, 1993).
    """
    window, search = 720, 240  # 30 and 10 ms
    hop = window // 2
    fade = np.hanning(window + 1)[:-1]
    padded = np.pad(sound, (search, window + search))
    out = np.zeros(int(len(sound) / factor) + 2 * window)
    wanted = padded[search : search + window]
    for index in range(int(len(sound) / factor / hop)):
        place = search + round(index * hop * factor)
        around = padded[place - search : place + search + window]
        if len(around) < window + 2 * search:
            break
        scores = np.correlate(around, wanted, "valid")
        best = place - search + int(scores.argmax())
        out[index * hop : index * hop + window] += fade * padded[best : best + window]
        wanted = np.pad(padded[best + hop : best + hop + window], (0, window))[:window]
    return out[: int(len(sound) / factor)]


def random_noise(length: int, random: np.random.Generator, rate_hz: int) -> Wave:
    """Return noise between white and brown, sometimes with a hum or swelling; its standard deviation is 1."""
    spectrum = np.fft.rfft(random.normal(0, 1, length))
    spectrum /= np.maximum(1, np.arange(len(spectrum))) ** random.uniform(0, 0.6)
    length_s = length / rate_hz
    if random.random() < HUM_SHARE:
        hum_hz = random.choice([50, 60, 100, 120]) * np.arange(1, 5)
        spectrum[np.rint(hum_hz * length_s).astype(int)] *= random.uniform(5, 60, 4)
    noise = np.fft.irfft(spectrum, length)
    if random.random() < SWELL_SHARE:
        turns = np.arange(length) / rate_hz * random.uniform(0.17, 1) + random.random()
        noise *= 10 ** (random.uniform(1, 5) * np.sin(2 * np.pi * turns) / 20)
    even: Wave = noise / noise.std()
    return even


def gain(decibels: float) -> float:
    """Return the amplitude factor of a level change."""
    return float(10 ** (decibels / 20))


def samples_of(sound: Wave) -> Samples:
    """Return the sound as 16-bit samples, clipped."""
    clipped: Samples = np.clip(np.rint(sound), -32_768, 32_767).astype(np.int16)
    return clipped
