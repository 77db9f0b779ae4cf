"""Silence that needs no judging."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.quiet import LOUDER, MOST_ENERGY, SURE_WINDOWS, SURELY_SILENT, QuietLine

NOISE = 1e-7
ENERGIES = st.floats(0, 1)
PROBABILITIES = st.floats(0, 1)


def silent(energy: float = NOISE, windows: int = SURE_WINDOWS) -> QuietLine:
    line = QuietLine()
    for _ in range(windows):
        line.judged(energy, 0.01)
    return line


def test_what_is_as_loud_as_the_silence_before_it_needs_no_judging():
    assert silent().needs_no_judging(NOISE)
    assert silent(energy=0.0).needs_no_judging(0.0)


def test_what_is_louder_is_judged():
    assert not silent().needs_no_judging(NOISE * LOUDER * 1.01)
    assert not silent(energy=0.0).needs_no_judging(NOISE)


def test_silence_is_sure_only_after_many_windows():
    assert not silent(windows=SURE_WINDOWS - 1).needs_no_judging(NOISE)


def test_a_window_that_might_be_speech_makes_silence_unsure_again():
    line = silent()
    line.judged(NOISE, SURELY_SILENT)
    assert not line.needs_no_judging(NOISE)


def test_a_loud_line_is_always_judged():
    assert not silent(energy=2 * MOST_ENERGY).needs_no_judging(2 * MOST_ENERGY)


def test_a_line_whose_noise_has_grown_is_silent_again_once_that_has_been_judged():
    line = silent()
    for _ in range(3 * SURE_WINDOWS):
        line.judged(4 * NOISE, 0.01)
    assert line.needs_no_judging(4 * NOISE)


@given(st.lists(st.tuples(ENERGIES, PROBABILITIES), max_size=60), ENERGIES)
def test_nothing_louder_than_all_recent_silence_goes_unjudged(windows, energy):
    line = QuietLine()
    for window_energy, probability in windows:
        line.judged(window_energy, probability)
    if line.needs_no_judging(energy):
        assert all(probability < SURELY_SILENT for _, probability in windows[-SURE_WINDOWS:])
        assert line.probability == pytest.approx(windows[-1][1])
        loudest = max(window_energy for window_energy, _ in windows)
        assert energy <= max(LOUDER * loudest, 1e-9)
