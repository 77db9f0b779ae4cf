"""Background sounds: built-in ones are generated, others are files."""

from __future__ import annotations

import numpy as np
import pytest

from audio.clips import BUILT_IN, MAX_CLIP_S, Clip, check_sound, read_clip


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sounds_are_softer_than_speech_and_repeat_without_a_click(name: str):
    sound = read_clip(check_sound(name)).at(24_000).astype(float)
    assert 0 < np.abs(sound).max() < 0.1 * 32_768
    step = np.abs(np.diff(sound)).max()
    assert abs(sound[0] - sound[-1]) <= step


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sounds_are_the_same_in_each_process(name: str):
    first = read_clip(name).at(8_000)
    assert np.array_equal(read_clip(name).at(8_000), first)


@pytest.mark.parametrize("wrong", ["", "hold music", "/no/such.wav", 7, None])
def test_an_unknown_sound_is_refused_with_its_name_and_the_built_in_ones(wrong: object):
    with pytest.raises(ValueError, match=r"'typing', 'hold', 'room', or the path") as refused:
        check_sound(wrong)
    assert repr(wrong) in str(refused.value)


def test_a_file_that_is_no_audio_is_refused_with_its_name(tmp_path):
    path = tmp_path / "hold.wav"
    path.write_bytes(b"no audio")
    with pytest.raises(ValueError, match=r"hold\.wav"):
        read_clip(check_sound(path))


@pytest.mark.parametrize("seconds", [0.0, MAX_CLIP_S + 1])
def test_an_empty_or_endless_clip_is_refused(seconds: float):
    with pytest.raises(ValueError, match=r"long\.wav"):
        Clip("long.wav", np.zeros(round(seconds * 100), np.int16), 100)
