from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.bench.speech import find_recordings, trimmed, voice_end_s, voice_start_s, with_pauses
from voiceagent.validation.errors import CommandFailed

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


def noise(seconds: float, rate_hz: int, level: int) -> np.ndarray:
    samples = np.random.default_rng(0).normal(0, level, round(seconds * rate_hz))
    return samples.clip(-32_768, 32_767).astype(np.int16)


@given(
    voiced_s=st.floats(0.05, 2),
    after_s=st.floats(0, 1),
    rate_hz=st.sampled_from([8_000, 16_000, 24_000, 44_100]),
)
def test_the_voice_ends_where_the_loud_part_ends(voiced_s, after_s, rate_hz):
    sound = np.concatenate([noise(voiced_s, rate_hz, 8_000), noise(after_s, rate_hz, 80)])
    assert voice_end_s(sound, rate_hz) == pytest.approx(voiced_s, abs=0.015)


def test_a_pause_in_the_voice_does_not_end_it():
    sound = np.concatenate([noise(0.3, 8_000, 8_000), noise(0.5, 8_000, 10), noise(0.2, 8_000, 8_000)])
    assert voice_end_s(sound, 8_000) == pytest.approx(1.0, abs=0.011)


@pytest.mark.parametrize("sound", [np.zeros(0, np.int16), np.zeros(10, np.int16), np.zeros(8_000, np.int16)])
def test_silence_has_no_voice(sound):
    assert voice_end_s(sound, 8_000) == 0.0


def test_a_voice_begins_after_clicks_and_the_noise_before_it():
    click = noise(0.01, 8_000, 8_000)
    sound = np.concatenate([noise(0.2, 8_000, 300), click, noise(0.2, 8_000, 300), noise(0.5, 8_000, 8_000)])
    assert voice_start_s(sound, 8_000) == pytest.approx(0.41, abs=0.011)
    assert len(trimmed(sound, 8_000)) == pytest.approx(0.5 * 8_000, abs=100)


@pytest.mark.parametrize("sound", [np.zeros(0, np.int16), np.zeros(10, np.int16), np.zeros(8_000, np.int16)])
def test_what_has_no_voice_is_trimmed_to_nothing(sound):
    assert len(trimmed(sound, 8_000)) == 0


def test_a_folder_without_recordings_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=f"{tmp_path} has no recordings; allowed: "):
        find_recordings([tmp_path])
