from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.recognizers.quiet_cuts import quiet_cuts


def noise(length_s: float, seed: int = 1) -> Samples:
    size = round(length_s * SAMPLE_RATE_HZ)
    return np.random.default_rng(seed).normal(0, 3_000, size).astype(np.int16)


def test_a_short_sound_is_not_cut() -> None:
    assert quiet_cuts(noise(9)) == []


def test_the_cut_is_in_the_middle_of_a_pause() -> None:
    sound = noise(12)
    sound[round(6.5 * SAMPLE_RATE_HZ) : round(6.8 * SAMPLE_RATE_HZ)] = 0
    [cut] = quiet_cuts(sound)
    assert 6.5 * SAMPLE_RATE_HZ < cut < 6.8 * SAMPLE_RATE_HZ
    assert not sound[cut - 800 : cut + 800].any()


@given(st.floats(0, 40), st.integers(0, 100))
def test_every_piece_is_five_to_nine_seconds_but_for_the_last(length_s: float, seed: int) -> None:
    sound = noise(length_s, seed)
    cuts = [0, *quiet_cuts(sound)]
    assert all(5 <= (end - begin) / SAMPLE_RATE_HZ <= 9 for begin, end in pairwise(cuts))
    assert (len(sound) - cuts[-1]) / SAMPLE_RATE_HZ <= 9


@given(st.floats(5, 20), st.floats(0, 20))
def test_more_sound_moves_no_cut(length_s: float, more_s: float) -> None:
    sound = noise(length_s + more_s)
    cuts = quiet_cuts(sound[: round(length_s * SAMPLE_RATE_HZ)])
    assert quiet_cuts(sound)[: len(cuts)] == cuts
