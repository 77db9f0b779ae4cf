"""Noises that are made."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yielding.noises import COUGH_S, LASTS_S, MADE, OTHERS_DB, PEAK, cough, others

VOICES = [np.random.default_rng(seed).integers(-9_000, 9_000, 48_000).astype(np.int16) for seed in range(3)]


@given(st.integers())
def test_a_cough_is_short_and_loud_and_dies_away(seed):
    sound = cough(Random(seed), 24_000).astype(float)
    assert COUGH_S[0] - 0.001 <= len(sound) / 24_000 <= COUGH_S[1] + 0.001
    assert np.abs(sound).max() == PEAK
    half = len(sound) // 2
    assert np.sum(sound[half:] ** 2) < 0.1 * np.sum(sound[:half] ** 2)


@pytest.mark.parametrize("kind", sorted(MADE.keys() - {"cough"}))
def test_everything_else_goes_on_for_a_while(kind):
    sound = MADE[kind](Random(1), 24_000)
    assert LASTS_S[0] <= len(sound) / 24_000 <= LASTS_S[1]
    assert 0 < np.abs(sound).max() <= PEAK


@pytest.mark.parametrize("kind", sorted(MADE))
def test_a_noise_is_the_same_for_the_same_seed(kind):
    assert np.array_equal(MADE[kind](Random(7), 8_000), MADE[kind](Random(7), 8_000))


def test_others_are_so_much_lower_than_a_caller():
    callers_peak = 9_000
    peak = float(np.abs(others(Random(1), 24_000, VOICES, callers_peak)).max()) / callers_peak
    assert OTHERS_DB[0] - 0.1 <= 20 * np.log10(peak) <= OTHERS_DB[1] + 0.1
