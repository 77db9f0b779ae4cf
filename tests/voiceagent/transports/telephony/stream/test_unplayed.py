"""Audio that a provider has not reported as played."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from voiceagent.transports.telephony.stream.marks import MAX_SAMPLES, Unplayed


def frame(value: int, length: int = 160) -> Samples:
    return np.full(length, value, np.int16)


def kept(unplayed: Unplayed) -> list[int | str]:
    """The first sample of each frame, and the names of marks."""
    return [one if isinstance(one, str) else int(one[0]) for one in unplayed]


def test_a_mark_that_returns_drops_what_was_sent_before_it() -> None:
    unplayed = Unplayed()
    unplayed.add_frame(frame(1))
    unplayed.add_mark("a")
    unplayed.add_frame(frame(2))
    unplayed.add_mark("b")
    unplayed.add_frame(frame(3))
    unplayed.played("b")
    assert kept(unplayed) == [3]


def test_an_unknown_mark_drops_nothing() -> None:
    unplayed = Unplayed()
    unplayed.add_frame(frame(1))
    unplayed.add_mark("a")
    unplayed.played("c")
    assert kept(unplayed) == [1, "a"]


def test_cleared_audio_is_not_kept() -> None:
    unplayed = Unplayed()
    unplayed.add_frame(frame(1))
    unplayed.clear()
    assert kept(unplayed) == []


@given(st.lists(st.integers(MAX_SAMPLES // 8, MAX_SAMPLES // 4), max_size=20))
def test_the_newest_audio_is_kept_up_to_the_limit(lengths: list[int]) -> None:
    unplayed = Unplayed()
    for value, length in enumerate(lengths):
        unplayed.add_frame(frame(value, length))
    left = kept(unplayed)
    assert left == list(range(len(lengths)))[len(lengths) - len(left) :]
    newest = sum(lengths[len(lengths) - len(left) :])
    assert newest <= MAX_SAMPLES
    if len(left) < len(lengths):
        assert newest + lengths[len(lengths) - len(left) - 1] > MAX_SAMPLES
