"""Detection of a voicemail's beep and of a fax machine's tones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from audio.dtmf import KEYS, tones
from audio.pcm import AudioFormat, Samples, decode, encode
from audio.steady_tones import MAX_TONE_S, SteadyTone, SteadyToneDetector

RATES_HZ = (8_000, 16_000, 24_000)


def sine(hz: float, length_s: float, rate_hz: int, level: float = 8_000) -> Samples:
    at_s = np.arange(round(length_s * rate_hz)) / rate_hz
    return (level * np.sin(2 * np.pi * hz * at_s)).astype(np.int16)


def silence(length_s: float, rate_hz: int) -> Samples:
    return np.zeros(round(length_s * rate_hz), np.int16)


def detect(samples: Samples, rate_hz: int, piece: int = 160) -> list[SteadyTone]:
    detector = SteadyToneDetector(rate_hz)
    pieces = [samples[begin : begin + piece] for begin in range(0, len(samples), piece)]
    return [tone for one in pieces for tone in detector.push(one)]


@settings(deadline=None, max_examples=40)
@given(
    hz=st.floats(410, 2_150),
    length_s=st.floats(0.16, 1.5),
    rate_hz=st.sampled_from(RATES_HZ),
    level=st.floats(700, 20_000),
    piece=st.integers(1, 4_000),
)
@example(hz=1_100, length_s=0.5, rate_hz=8_000, level=3_000, piece=160)
def test_a_steady_tone_is_reported_once_with_its_frequency_and_length(
    hz: float, length_s: float, rate_hz: int, level: float, piece: int
) -> None:
    sound = [silence(0.2, rate_hz), sine(hz, length_s, rate_hz, level), silence(0.2, rate_hz)]
    (tone,) = detect(np.concatenate(sound), rate_hz, max(piece, 80))
    assert abs(tone.frequency_hz - hz) < 8
    assert abs(tone.length_s - length_s) < 0.04


@settings(deadline=None, max_examples=20)
@given(hz=st.floats(450, 1_950), seed=st.integers(0, 1_000))
def test_a_beep_is_detected_in_noise_and_through_mu_law(hz: float, seed: int) -> None:
    sound = np.concatenate([silence(0.2, 8_000), sine(hz, 0.4, 8_000), silence(0.2, 8_000)])
    noise = np.random.default_rng(seed).normal(0, 1_000, len(sound))  # 15 dB below the tone
    heard = decode(encode((sound + noise).astype(np.int16), AudioFormat.PCMU), AudioFormat.PCMU)
    (tone,) = detect(heard, 8_000)
    assert abs(tone.frequency_hz - hz) < 10


def test_a_long_tone_is_reported_before_its_end() -> None:
    (tone,) = detect(sine(1_000, MAX_TONE_S + 1, 8_000), 8_000)
    assert abs(tone.length_s - MAX_TONE_S) < 0.05


@pytest.mark.parametrize("length_s", [0.05, 0.1])
def test_a_short_tone_is_none(length_s: float) -> None:
    assert detect(np.concatenate([sine(1_000, length_s, 8_000), silence(0.2, 8_000)]), 8_000) == []


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1_000), level=st.floats(0, 10_000))
def test_noise_is_no_tone(seed: int, level: float) -> None:
    noise = np.random.default_rng(seed).normal(0, level, 16_000).clip(-32_768, 32_767)
    assert detect(noise.astype(np.int16), 8_000) == []


@settings(deadline=None, max_examples=30)
@given(low_hz=st.floats(90, 390), harmonics=st.integers(3, 8))
def test_a_held_vowel_is_no_tone(low_hz: float, harmonics: int) -> None:
    parts = [sine(low_hz * n, 1.0, 8_000, 3_000 / n) for n in range(1, harmonics + 1)]
    assert detect(np.stack(parts).sum(axis=0).astype(np.int16), 8_000) == []


@settings(deadline=None, max_examples=20)
@given(begin_hz=st.floats(500, 1_500), change=st.floats(250, 400))
def test_a_gliding_whistle_is_no_tone(begin_hz: float, change: float) -> None:
    at_s = np.arange(8_000) / 8_000
    glide = 8_000 * np.sin(2 * np.pi * (begin_hz * at_s + change * at_s**2 / 2))
    assert detect(glide.astype(np.int16), 8_000) == []


def test_keys_and_ringback_are_no_tone() -> None:
    keys = tones("".join(KEYS), 8_000)
    assert detect(keys, 8_000) == []
    for one_hz, other_hz in ((440, 480), (350, 440), (400, 450), (480, 620)):
        both = sine(one_hz, 1.0, 8_000) + sine(other_hz, 1.0, 8_000)
        assert detect(both, 8_000) == [], (one_hz, other_hz)
