from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.bench.speech import find_recordings, with_pauses

VOICE = np.random.default_rng(0).normal(0, 8_000, 2_400).clip(-32_768, 32_767).astype(np.int16)
SILENCE = np.zeros(800, np.int16)


@given(st.floats(0.3, 1.0), st.integers(1, 4))
def test_a_pause_is_as_long_as_wished_whatever_silence_the_parts_have(pause_s, parts):
    part = np.concatenate([SILENCE, VOICE, SILENCE])
    sound = with_pauses([part] * parts, pause_s, 8_000)
    assert len(sound) == pytest.approx(parts * len(VOICE) + (parts - 1) * pause_s * 8_000, abs=200 * parts)


def test_a_folder_stands_for_the_recordings_in_it(tmp_path):
    for name in ("b.wav", "a.wav", "notes.txt"):
        (tmp_path / name).touch()
    alone = tmp_path / "notes.txt"
    assert find_recordings([tmp_path, alone]) == [tmp_path / "a.wav", tmp_path / "b.wav", alone]
