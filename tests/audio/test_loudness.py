"""The first sign of a voice, sound that grows loud; and how loud a voice is."""

from __future__ import annotations

import numpy as np
import pytest
from sounds import noise

from audio.loudness import LOUDER_DB, MIN_LEVEL_WINDOWS, RISE_S, WINDOW_S, LoudnessRise, VoiceLevel, energies
from audio.pcm import Samples

RATE_HZ = 16_000


def rises(*parts: Samples) -> list[float]:
    """Return the times at which a rise is reported, in seconds of the sound (windows of 32 ms)."""
    loudness, sound, told = LoudnessRise(), np.concatenate(parts).astype(np.float32), []
    for end in range(512, len(sound) + 1, 512):
        if loudness.push(energies(sound[np.newaxis, end - 512 : end], RATE_HZ)[0]):
            told.append(end / RATE_HZ)
    return told


def test_a_voice_is_reported_as_soon_as_it_is_no_click():
    (at_s,) = rises(noise(1, -90), noise(1, -25))
    assert at_s == pytest.approx(1 + RISE_S, abs=0.032)


def test_a_voice_over_the_noise_of_a_room_is_reported():
    assert len(rises(noise(1, -50), noise(1, -25))) == 1


def test_a_click_is_nothing():
    assert rises(noise(1, -90), noise(2 * WINDOW_S, -10), noise(1, -90)) == []


def test_a_voice_that_a_telephone_lowers_is_reported():
    assert len(rises(noise(1, -90), noise(1, -55))) == 1


def test_what_is_quiet_is_nothing():
    assert rises(noise(1, -90), noise(1, -65)) == []


def test_noise_that_is_hardly_louder_than_before_is_nothing():
    assert rises(noise(1, -40), noise(1, -32)) == []


def test_noise_that_stays_is_reported_once_and_a_voice_over_it_again():
    told = rises(noise(1, -90), noise(10, -40), noise(1, -15))
    assert [round(at_s) for at_s in told] == [1, 11]


# ---- Where a voice falls silent ----


def level_of(*windows_db: float) -> VoiceLevel:
    """Return the level of voiced windows."""
    level = VoiceLevel()
    for window_db in windows_db:
        level.push([(32_768 * 10 ** (window_db / 20)) ** 2], voiced=True)
    return level


def test_what_is_told_of_a_voice_is_its_loudest_window():
    assert level_of(-40.0, -20.0, -30.0).mark_reported() == pytest.approx(-20.0, abs=0.1)


def test_a_bump_does_not_change_how_loud_a_voice_is():
    voice_db = [-20.0] * MIN_LEVEL_WINDOWS
    assert level_of(*voice_db, 0.0).overall_db == level_of(*voice_db).overall_db


def test_breaths_do_not_change_how_loud_a_voice_is():
    voice_db = [-20.0] * MIN_LEVEL_WINDOWS
    assert level_of(-50.0, *voice_db, -50.0).overall_db == level_of(*voice_db).overall_db


def test_what_is_not_voiced_is_no_part_of_a_voice():
    level = level_of(*[-20.0] * MIN_LEVEL_WINDOWS)
    before = level.overall_db
    for _ in range(100):
        level.push([1.0], voiced=False)
    assert level.overall_db == before


def test_how_loud_so_short_a_voice_is_nobody_knows():
    assert level_of(*[-20.0] * (MIN_LEVEL_WINDOWS - 1)).overall_db is None


def test_a_voice_is_louder_once_until_it_grows_again():
    level = level_of(-30.0)
    level.mark_reported()
    level.push([(32_768 * 10 ** ((-30.0 + LOUDER_DB + 0.1) / 20)) ** 2], voiced=True)
    assert level.is_louder
    level.mark_reported()
    assert not level.is_louder
