"""How the pitch of a voice ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from audio.pitch import falls

RATE_HZ = 16_000


def voice(*points: tuple[float, float], loudness: float = 6_000.0) -> Samples:
    """A buzz like that of a throat whose pitch goes from point to point, each (seconds, Hz)."""
    times, pitches = zip(*points, strict=True)
    at_s = np.arange(round(times[-1] * RATE_HZ)) / RATE_HZ
    phase = 2 * np.pi * np.cumsum(np.interp(at_s, times, pitches)) / RATE_HZ
    buzz = sum(np.sin(k * phase) / k for k in range(1, 8))
    return (buzz * loudness).astype(np.int16)


def hiss(seconds: float) -> Samples:
    """An "s"."""
    return np.random.default_rng(3).normal(0, 300, round(seconds * RATE_HZ)).astype(np.int16)


LEVEL = ((0.0, 120.0), (0.7, 115.0))


def test_a_voice_that_falls_at_the_end_is_reported():
    assert falls(voice(*LEVEL, (0.9, 95.0), (1.0, 85.0)))


def test_a_voice_that_stays_level_has_not_fallen():
    assert not falls(voice(*LEVEL, (1.0, 115.0)))


def test_a_voice_that_rises_like_a_question_has_not_fallen():
    assert not falls(voice(*LEVEL, (1.0, 170.0)))


def test_a_voice_that_falls_and_rises_again_goes_on():
    assert not falls(voice(*LEVEL, (0.88, 85.0), (1.0, 105.0)))


def test_a_high_voice_is_heard_as_well():
    assert falls(voice((0.0, 230.0), (0.7, 220.0), (0.9, 180.0), (1.0, 165.0)))


def test_an_s_at_the_end_hides_no_fall():
    assert falls(np.concatenate((voice(*LEVEL, (0.8, 90.0), (0.85, 85.0)), hiss(0.1))))


def test_what_has_no_pitch_does_not_fall():
    assert not falls(hiss(1.0))
    assert not falls(np.zeros(RATE_HZ, np.int16))
    assert not falls(np.zeros(0, np.int16))


@given(st.floats(90, 300), st.floats(0.6, 0.85))
def test_a_fall_is_reported_at_any_pitch(pitch_hz: float, part: float):
    end_hz = max(pitch_hz * part, 80.0)
    assert falls(voice((0.0, pitch_hz), (0.75, pitch_hz), (0.85, end_hz), (1.0, end_hz))) == (
        end_hz < 0.9 * pitch_hz
    )


@given(st.integers(0, 20_000), st.integers(0, 2**32 - 1))
def test_no_noise_falls(length: int, seed: int):
    sound = np.random.default_rng(seed).integers(-32_768, 32_767, length).astype(np.int16)
    assert not falls(sound)
