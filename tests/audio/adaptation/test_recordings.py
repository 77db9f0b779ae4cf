from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.adaptation.recordings import read_recordings, varied
from audio.wav import write_wav

TONE = (8_000 * np.sin(np.arange(8_000) / 8)).astype(np.int16)


def test_recordings_come_at_16_khz_with_their_words(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    write_wav(tmp_path / "calls" / "one.wav", TONE, 8_000)
    (table := tmp_path / "table.tsv").write_text("calls/one.wav\tIs there a pool? \n")
    (recording,) = read_recordings(table)
    assert recording.text == "Is there a pool?"
    assert len(recording.sound) == pytest.approx(16_000, abs=100)


@pytest.mark.parametrize("line", ["one.wav", "one.wav\t ", "one.wav Is there a pool?"])
def test_a_line_without_words_is_named(tmp_path: Path, line: str) -> None:
    write_wav(tmp_path / "one.wav", TONE, 8_000)
    (table := tmp_path / "table.tsv").write_text(f"one.wav\tYes.\n{line}\n")
    with pytest.raises(ValueError, match=r"table.tsv, line 2: 'one.wav.*' is not a path, a tab"):
        list(read_recordings(table))


def test_a_recording_too_short_for_a_word_is_named(tmp_path: Path) -> None:
    write_wav(tmp_path / "one.wav", TONE[:400], 8_000)
    (table := tmp_path / "table.tsv").write_text("one.wav\tYes.\n")
    with pytest.raises(ValueError, match=r"line 1: one.wav has 0.05 s; allowed: 0.1 or more"):
        list(read_recordings(table))


@given(st.integers(0, 2**32 - 1))
def test_a_varied_sound_gets_silence_around_it_and_is_never_louder(seed: int) -> None:
    other = varied(TONE, np.random.default_rng(seed))
    assert other.dtype == np.int16
    assert 0.85 * len(TONE) < len(other) < 1.2 * len(TONE) + 12_000
    assert np.abs(other.astype(int)).max() < 1.1 * 8_000 + 200


def test_two_variations_of_a_sound_differ() -> None:
    rng = np.random.default_rng(0)
    one, other = varied(TONE, rng), varied(TONE, rng)
    assert not np.array_equal(one, other)
