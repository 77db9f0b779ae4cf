"""Training examples of the network that finds the end of a voice."""

from __future__ import annotations

import numpy as np
import pytest
from sounds import voice_like

from audio.detection.vad import SAMPLE_RATE_HZ
from examples.voice_end.examples import LENGTH, WINDOWS, examples, spoken


def test_a_voice_is_what_is_near_to_the_loudest_second_around_it():
    sound = np.repeat([8_000.0, 1_600.0, 400.0, 0.0], SAMPLE_RATE_HZ // 2)
    assert [spoken(sound)[at] for at in (25, 75, 125, 175)] == [True, True, False, False]


@pytest.mark.parametrize("seed", range(4))
def test_a_call_tells_when_its_voices_end_however_it_is_heard(seed):
    (call,) = examples([voice_like(40, seed)], np.random.default_rng(seed))
    assert call.sound.shape == (LENGTH,)
    assert len(call.since_s) == len(call.silence_s) == WINDOWS
    over = call.since_s > 0.5
    assert over[-1], "one recording, then silence"
    assert call.silence_s[over].min() > 0.5
    speaking = np.flatnonzero(~over & (call.since_s <= 0))
    assert 0.8 < (speaking[-1] - speaking[0]) * 0.032 < 1.4, "of 40 windows"


def test_no_two_calls_are_heard_alike():
    first, second = examples([voice_like(370, 1)] * 2, np.random.default_rng(1))
    assert not np.array_equal(first.sound, second.sound)
