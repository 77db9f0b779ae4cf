"""Sounds beside speech: built-in ones are generated, others are files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from audio.clips import BUILT_IN, CLIPS, MAX_CLIP_S, Clip, ClipCache, check_sound
from audio.wav import write_wav


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sounds_are_softer_than_speech_and_repeat_without_a_click(name: str):
    sound = CLIPS.find(check_sound(name)).at(24_000).astype(float)
    assert 0 < np.abs(sound).max() < 0.1 * 32_768
    step = np.abs(np.diff(sound)).max()
    assert abs(sound[0] - sound[-1]) <= step


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sounds_are_the_same_in_each_process(name: str):
    first = ClipCache().find(name).at(8_000)
    assert np.array_equal(ClipCache().find(name).at(8_000), first)


def test_a_file_is_read_once_and_converted_to_the_rate_of_the_call(tmp_path):
    path = tmp_path / "hold.wav"
    write_wav(path, np.arange(1_600, dtype=np.int16), 16_000)
    clip = CLIPS.find(check_sound(path))
    path.unlink()
    assert CLIPS.find(str(path)) is clip
    assert len(clip.at(8_000)) == pytest.approx(800, abs=3)


def test_the_clip_unused_for_longest_makes_room(tmp_path):
    names = [str(tmp_path / f"{number}.wav") for number in range(3)]
    for name in names:
        write_wav(Path(name), np.arange(1_000, dtype=np.int16), 24_000)
    clips = ClipCache(max_bytes=4_999)
    first, second = clips.find(names[0]), clips.find(names[1])
    assert clips.find(names[0]) is first
    third = clips.find(names[2])
    assert (clips.find(names[0]) is first, clips.find(names[2]) is third) == (True, True)
    assert clips.find(names[1]) is not second


def test_a_clip_counts_with_all_its_rates(tmp_path):
    path = tmp_path / "hold.wav"
    write_wav(path, np.arange(1_000, dtype=np.int16), 24_000)
    clips = ClipCache(max_bytes=27_000)
    first = clips.find(str(path))
    first.at(48_000)
    assert clips.find(str(path)) is first
    assert first.size_bytes == pytest.approx(6_000, abs=20)
    first.at(192_000)
    clips.find("room")
    assert clips.find(str(path)) is not first


@pytest.mark.parametrize("wrong", ["", "hold music", "/no/such.wav", 7, None])
def test_an_unknown_sound_is_refused_with_its_name_and_the_built_in_ones(wrong: object):
    with pytest.raises(ValueError, match=r"'typing', 'hold', 'room', or the path") as refused:
        check_sound(wrong)
    assert repr(wrong) in str(refused.value)


def test_a_file_that_is_no_audio_is_refused_with_its_name(tmp_path):
    path = tmp_path / "hold.wav"
    path.write_bytes(b"no audio")
    with pytest.raises(ValueError, match=r"hold\.wav"):
        CLIPS.find(check_sound(path))


@pytest.mark.parametrize("seconds", [0.0, MAX_CLIP_S + 1])
def test_an_empty_or_endless_clip_is_refused(seconds: float):
    with pytest.raises(ValueError, match=r"long\.wav"):
        Clip("long.wav", np.zeros(round(seconds * 100), np.int16), 100)
