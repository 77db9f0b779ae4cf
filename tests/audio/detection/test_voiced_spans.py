from __future__ import annotations

import numpy as np
import pytest
from sounds import said

from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad
from audio.detection.voiced_spans import joined, utterances, voiced_spans
from audio.pcm import Samples

SECOND = np.zeros(SAMPLE_RATE_HZ, np.int16)


@pytest.fixture(scope="module")
def vad() -> SileroVad:
    model = SileroVad()
    model.load()
    return model


def music() -> Samples:
    """Three seconds of a chord that swells."""
    at_s = np.arange(3 * SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
    chord = sum(np.sin(2 * np.pi * hz * at_s) for hz in (220.0, 277.2, 329.6, 440.0))
    return (2_000 * chord * (0.6 + 0.4 * np.sin(2 * np.pi * 0.5 * at_s))).astype(np.int16)


async def test_a_voice_is_found_where_it_is(vad: SileroVad) -> None:
    voice = await said("When is breakfast?")
    spans = voiced_spans(np.concatenate([SECOND, voice, SECOND]), vad)
    begin, end = spans[0][0], spans[-1][1]
    assert 0.9 * SAMPLE_RATE_HZ < begin < 1.6 * SAMPLE_RATE_HZ
    assert len(voice) - SAMPLE_RATE_HZ < end - SAMPLE_RATE_HZ < len(voice) + SAMPLE_RATE_HZ // 2


def test_silence_noise_and_music_have_no_voice(vad: SileroVad) -> None:
    noise = np.random.default_rng(1).normal(0, 1_000, 3 * SAMPLE_RATE_HZ).astype(np.int16)
    assert voiced_spans(np.tile(SECOND, 3), vad) == []
    assert voiced_spans(noise, vad) == []
    assert voiced_spans(music(), vad) == []
    assert voiced_spans(np.zeros(0, np.int16), vad) == []


async def test_a_long_silence_parts_utterances_and_a_short_one_does_not(vad: SileroVad) -> None:
    voice = await said("When is breakfast?")
    near = np.concatenate([voice, SECOND, voice])
    far = np.concatenate([voice, np.tile(SECOND, 4), voice])
    assert len(utterances(near, vad, pause_s=2.0, padding_s=0.3)) == 1
    first, second = utterances(far, vad, pause_s=2.0, padding_s=0.3)
    assert max(len(first), len(second)) < len(voice) + SAMPLE_RATE_HZ


def test_padding_that_would_join_what_is_apart_is_refused(vad: SileroVad) -> None:
    with pytest.raises(ValueError, match="padding_s is 1"):
        utterances(SECOND, vad, pause_s=2.0, padding_s=1.0)


def test_spans_with_too_short_a_pause_between_them_are_one() -> None:
    assert joined([(0, 10), (15, 20), (25, 30), (36, 40)], 5) == [(0, 30), (36, 40)]
    assert joined([], 5) == []
