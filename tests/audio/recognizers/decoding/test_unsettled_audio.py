"""Sound that is kept until its words are known."""

from __future__ import annotations

import numpy as np

from audio.recognizers.decoding.unsettled_audio import UnsettledAudio


def test_what_is_settled_is_let_go() -> None:
    sound = UnsettledAudio()
    sound.push(np.arange(10, dtype=np.int16))
    sound.settle(4)
    sound.push(np.arange(10, 12, dtype=np.int16))
    assert sound.rest.tolist() == list(range(4, 12))
    assert (sound.settled, sound.received) == (4, 12)


def test_no_more_is_settled_than_there_is_and_nothing_twice() -> None:
    sound = UnsettledAudio()
    sound.push(np.arange(10, dtype=np.int16))
    sound.settle(20)
    sound.settle(3)
    assert (sound.settled, len(sound.rest)) == (10, 0)
