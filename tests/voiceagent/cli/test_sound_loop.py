from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from voiceagent.cli.microphone import MAX_WAITING_S, SoundLoop


def sound(*values: int) -> Samples:
    return np.array(values, np.int16)


def test_without_sound_of_the_agent_silence_is_played() -> None:
    loop = SoundLoop(8_000, 4)
    assert loop.exchange(sound(1, 2, 3, 4)).tolist() == [0, 0, 0, 0]


@given(st.lists(st.integers(1, 9), max_size=8), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_what_the_agent_says_is_played_once_and_in_order(pieces: list[int], blocks: list[int]) -> None:
    loop = SoundLoop(8_000, 4)
    said = iter(range(1, 100))
    for length in pieces:
        loop.play(sound(*(next(said) for _ in range(length))))
    played = [value for length in blocks for value in loop.exchange(np.zeros(length, np.int16)).tolist()]
    whole = [*range(1, sum(pieces) + 1)]
    assert played == (whole + [0] * len(played))[: len(played)]


def test_what_waits_when_the_agent_is_interrupted_is_not_played() -> None:
    loop = SoundLoop(8_000, 2)
    loop.play(sound(1, 2, 3))
    assert loop.exchange(sound(0, 0)).tolist() == [1, 2]
    loop.clear_playback()
    loop.play(sound(9))
    assert loop.exchange(sound(0, 0)).tolist() == [9, 0]


def test_the_microphone_is_taken_in_order_though_the_device_uses_its_buffer_again() -> None:
    loop = SoundLoop(8_000, 2)
    buffer = sound(1, 2)
    loop.exchange(buffer)
    buffer[:] = (3, 4)
    loop.exchange(buffer)
    taken = [loop.pop_captured(), loop.pop_captured(), loop.pop_captured()]
    assert [None if block is None else block.tolist() for block in taken] == [[1, 2], [3, 4], None]


def test_the_oldest_of_the_microphone_is_dropped_where_nobody_takes_it() -> None:
    loop = SoundLoop(100, 1)
    for value in range(round(MAX_WAITING_S * 100) + 5):
        loop.exchange(sound(value))
    oldest = loop.pop_captured()
    assert oldest is not None
    assert oldest.tolist() == [5]
