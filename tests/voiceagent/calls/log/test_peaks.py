"""Peaks of a recording for drawing: equal for any chunking of its sound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.calls.files import PeaksFile, peak_samples, peaks

RATE_HZ = 8_000
BLOCK = peak_samples(RATE_HZ)


def noise(frames: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-32_768, 32_768, (frames, 2), np.int16)


def never(error: OSError) -> None:
    raise error


@pytest.mark.parametrize(("loudest", "drawn"), [(0, 0), (1, 2), (8_192, 128), (32_767, 255), (-32_768, 255)])
def test_a_peak_is_the_root_of_its_part_of_full_scale(loudest: int, drawn: int):
    sound = np.zeros((BLOCK, 2), np.int16)
    sound[7, 1] = loudest
    assert list(peaks(sound, BLOCK)) == [0, drawn]


@given(st.lists(st.integers(0, 500), max_size=12))
def test_the_pieces_that_sound_comes_in_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int]
):
    sound = noise(sum(pieces))
    path = tmp_path_factory.mktemp("peaks") / "peaks"
    file, since = PeaksFile(path, RATE_HZ, never), 0
    for piece in pieces:
        file.write(since, sound[since : since + piece])
        since += piece
    file.close()
    written = path.read_bytes() if path.exists() else b""
    assert written == peaks(sound[: since // BLOCK * BLOCK], BLOCK)


def test_a_disk_that_fails_is_told_of_and_later_peaks_keep_their_places(tmp_path: Path):
    failures: list[OSError] = []
    in_the_way = tmp_path / "call"
    in_the_way.write_text("not a folder")
    file, sound = PeaksFile(in_the_way / "peaks", RATE_HZ, failures.append), noise(2 * BLOCK)
    file.write(0, sound[:BLOCK])
    assert len(failures) == 1
    in_the_way.unlink()
    file.write(BLOCK, sound[BLOCK:])
    file.close()
    assert (in_the_way / "peaks").read_bytes() == b"\0\0" + peaks(sound[BLOCK:], BLOCK)
