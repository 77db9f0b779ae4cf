from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.bench.speech import COUGH_PEAK, COUGH_S, cough, find_recordings, with_pauses

VOICE = np.random.default_rng(0).normal(0, 8_000, 2_400).clip(-32_768, 32_767).astype(np.int16)
SILENCE = np.zeros(800, np.int16)


@given(st.floats(0.3, 1.0), st.integers(1, 4))
def test_a_pause_is_as_long_as_wished_whatever_silence_the_parts_have(pause_s, parts):
    part = np.concatenate([SILENCE, VOICE, SILENCE])
    sound = with_pauses([part] * parts, pause_s, 8_000)
    assert len(sound) == pytest.approx(parts * len(VOICE) + (parts - 1) * pause_s * 8_000, abs=200 * parts)


@given(st.integers())
def test_a_cough_is_short_and_loud_and_dies_away(seed):
    sound = cough(Random(seed), 24_000).astype(float)
    assert COUGH_S[0] - 0.001 <= len(sound) / 24_000 <= COUGH_S[1] + 0.001
    assert np.abs(sound).max() == COUGH_PEAK
    half = len(sound) // 2
    assert np.sum(sound[half:] ** 2) < 0.1 * np.sum(sound[:half] ** 2)


def test_a_cough_is_the_same_for_the_same_seed():
    assert np.array_equal(cough(Random(7), 8_000), cough(Random(7), 8_000))


def test_a_folder_stands_for_the_recordings_in_it(tmp_path):
    for name in ("b.wav", "a.wav", "notes.txt"):
        (tmp_path / name).touch()
    alone = tmp_path / "notes.txt"
    assert find_recordings([tmp_path, alone]) == [tmp_path / "a.wav", tmp_path / "b.wav", alone]
