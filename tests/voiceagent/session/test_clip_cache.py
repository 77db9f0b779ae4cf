"""Background sounds are kept for all calls of a process, within a size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from audio.clips import check_sound
from audio.wav import write_wav
from voiceagent.session.background import CLIPS, ClipCache


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
