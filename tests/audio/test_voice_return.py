"""A returning voice is noticed within one frame."""

from __future__ import annotations

import numpy as np
import pytest

from audio.loudness import VoiceReturn
from audio.pcm import Samples

RATE_HZ = 24_000
FRAME = 480
RNG = np.random.default_rng(1)


def noise(peak: int, frames: int = 25) -> list[Samples]:
    return [RNG.integers(-peak, peak, FRAME, dtype=np.int16) for _ in range(frames)]


def voice(peak: int) -> Samples:
    return (peak * np.sin(2 * np.pi * 200 * np.arange(FRAME) / RATE_HZ)).astype(np.int16)


def after(*frames: Samples) -> VoiceReturn:
    detector = VoiceReturn()
    for frame in frames:
        detector.push(frame)
    return detector


@pytest.mark.parametrize("pause", [1, 30, 300])
def test_voice_after_a_pause_is_noticed_with_its_first_frame(pause: int) -> None:
    assert after(*[voice(6_000)] * 100, *noise(pause)).push(voice(max(200, 4 * pause)))


@pytest.mark.parametrize("pause", [1, 30, 300, 3_000])
def test_pause_itself_is_no_voice(pause: int) -> None:
    detector = after(*[voice(6_000)] * 100, *noise(pause, 2))
    assert not any(detector.push(frame) for frame in noise(pause, 200))


def test_noise_that_stays_becomes_the_pause() -> None:
    detector = after(*noise(30), *noise(1_000, 100))
    assert not any(detector.push(frame) for frame in noise(1_000, 60))
