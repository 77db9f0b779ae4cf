from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.synthesizers.quiet_end import QuietEnd

SOUNDS = st.lists(st.lists(st.sampled_from([0, 50, -99, 100, -32_768, 32_767]), max_size=5), max_size=8)


@given(SOUNDS, st.integers(0, 6))
def test_only_quiet_over_the_longest_is_lost_and_only_at_the_end(
    chunks: list[list[int]], longest: int
) -> None:
    quiet_end = QuietEnd(longest)
    passed = [quiet_end.push(np.array(chunk, np.int16)) for chunk in chunks]
    sound = np.concatenate([*passed, quiet_end.finish()])
    whole = [value for chunk in chunks for value in chunk]
    voiced = max((index + 1 for index, value in enumerate(whole) if abs(value) >= 100), default=0)
    assert sound.tolist() == whole[: voiced + longest]


def test_voice_is_passed_on_at_once() -> None:
    assert QuietEnd(10).push(np.array([500, 20, 500, 20], np.int16)).tolist() == [500, 20, 500]
