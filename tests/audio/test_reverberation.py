"""Reverberation, estimated from the voice alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.loudness_fall import DIRECT_S, RINGING_S, Reverberation

WINDOW_S = 0.008
WINDOWS = 125
DIRECT = round(DIRECT_S / WINDOW_S)
ROOM = Reverberation(WINDOWS, WINDOW_S)


def spoken(ringing_s: float, share: float = 0.02) -> np.ndarray:
    """Syllables of 0.1 s with 0.1 s between them, in a room that rings for so long; mean squares."""
    said = np.tile([1e6] * 12 + [0.0] * 12, 5)
    left = 10 ** (-6 * WINDOW_S * np.arange(len(said)) / ringing_s)
    return said + share * np.convolve(np.pad(said, (DIRECT, 0)), left)[: len(said)]


def test_a_room_is_found_by_what_is_heard_between_words():
    for ringing_s in RINGING_S:
        energies = spoken(ringing_s)
        of_the_room = (energies > 0) & (energies < 1e6)
        shares = ROOM(energies)[of_the_room] / energies[of_the_room]
        assert 0.5 < np.median(shares) < 1.5


def test_where_nothing_is_heard_between_words_there_is_no_room():
    assert not ROOM(spoken(0.4, share=0.0)).any()


def test_a_louder_room_adds_more():
    assert ROOM(spoken(0.4, share=0.04)).sum() > 1.5 * ROOM(spoken(0.4, share=0.02)).sum()


def test_silence_has_no_room():
    assert not ROOM(np.zeros(WINDOWS)).any()


def test_of_the_first_sound_no_room_is_known():
    assert not ROOM(np.full(DIRECT, 1e6)).any()


@given(st.lists(st.floats(0.0, 1e9), min_size=1, max_size=WINDOWS))
def test_a_room_adds_no_less_than_nothing_to_any_sound(energies: list[float]):
    added = ROOM(np.array(energies))
    assert added.shape == (len(energies),)
    assert np.all(added >= 0.0)
    assert np.all(np.isfinite(added))
