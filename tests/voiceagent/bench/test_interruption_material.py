"""Speakers over the agent, and their loudness."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yielding.material import VARIES_DB, Caller, interruptions

from audio.pcm import Samples


def recording(peak: int) -> Samples:
    """Noise with such a peak."""
    sound = np.random.default_rng(1).uniform(-1, 1, 2_400)
    return np.rint(sound / np.abs(sound).max() * peak).astype(np.int16)


def peak_db(sound: Samples) -> float:
    return float(20 * np.log10(np.abs(sound.astype(np.int32)).max()))


@given(st.integers())
def test_a_caller_is_as_loud_in_both_recordings_but_for_what_he_varies(seed):
    callers = [Caller("near.wav", "ann", recording(10_000)), Caller("low.wav", "ann", recording(1_000))]
    for over in interruptions(callers, 5, Random(seed)):
        assert abs(peak_db(over.sound) - peak_db(over.before)) <= VARIES_DB + 0.1


@pytest.mark.parametrize("level", [10_000, 1_000])
def test_who_has_one_recording_says_it_twice(level):
    (over,) = interruptions([Caller("only.wav", "ben", recording(level))], 1, Random(1))
    assert len(over.before) == len(over.sound)
