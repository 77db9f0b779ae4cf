"""Made rooms, telephones and noises: what they do to a sound."""

from __future__ import annotations

import numpy as np
import pytest

from audio.surroundings import (
    gain,
    in_random_room,
    over_random_telephone,
    over_telephone,
    random_noise,
    samples_of,
    with_room,
)

RATE_HZ = 16_000
SEEDS = range(6)


def tone(hz: float, seconds: float = 1.0) -> np.ndarray:
    return 8_000 * np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ)


def level(sound: np.ndarray) -> float:
    return float(np.sqrt(np.mean(sound.astype(np.float64) ** 2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_room_rings_on_behind_a_voice_and_dies_away(seed: int) -> None:
    voice = np.random.default_rng(9).normal(0, 1_000, RATE_HZ)
    sound = np.concatenate([voice, np.zeros(2 * RATE_HZ)])
    heard = in_random_room(sound, np.random.default_rng(seed), RATE_HZ)
    assert len(heard) == len(sound)
    tail = heard[RATE_HZ:]
    assert 50 < level(tail[:800]) < level(heard[:RATE_HZ])
    assert level(tail[RATE_HZ:]) < 1e-3, "no room rings for more than a second"


def test_a_room_leaves_a_sound_as_loud_as_it_was_and_its_echo_comes_after_it() -> None:
    sound, room = np.random.default_rng(1).normal(0, 1_000, RATE_HZ), np.zeros(4_000)
    room[3_000] = 1.0
    near, far = (with_room(sound, room, decibels) for decibels in (20.0, -6.0))
    assert len(near) == len(sound) + len(room)
    assert level(near[3_000:RATE_HZ]) == pytest.approx(level(sound), rel=0.05)
    assert level(far[3_000:RATE_HZ]) == pytest.approx(level(sound), rel=0.05)
    assert level(far[RATE_HZ : RATE_HZ + 3_000]) > 5 * level(near[RATE_HZ : RATE_HZ + 3_000])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_telephone_passes_a_voices_band_and_neither_hum_nor_hiss(seed: int) -> None:
    passed = {
        hz: level(over_random_telephone(tone(hz), np.random.default_rng(seed), RATE_HZ)) / level(tone(hz))
        for hz in (40, 1_000, 6_000)
    }
    assert passed[1_000] == pytest.approx(1, abs=0.05)
    assert max(passed[40], passed[6_000]) < 0.05


def test_what_comes_by_telephone_is_as_long_as_it_was() -> None:
    for length in (RATE_HZ, RATE_HZ + 1, RATE_HZ + 3):
        assert len(over_telephone(np.zeros(length), RATE_HZ, 300, 3_400)) == length


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_has_a_standard_deviation_of_one_and_no_two_are_alike(seed: int) -> None:
    one, other = (random_noise(RATE_HZ, np.random.default_rng(each), RATE_HZ) for each in (seed, seed + 1))
    assert one.std() == pytest.approx(1)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.9


def test_some_noises_hum_at_what_a_line_hums_at_however_long_they_are() -> None:
    hums = 0
    for seed in range(40):
        spectrum = np.abs(np.fft.rfft(random_noise(RATE_HZ * 3 // 2, np.random.default_rng(seed), RATE_HZ)))
        around = np.median(spectrum[60:300])
        hums += any(spectrum[round(hz * 1.5)] > 8 * around for hz in (200, 240, 400, 480))
    assert 0 < hums < 40


def test_what_is_too_loud_is_clipped() -> None:
    assert samples_of(np.array([-4e4, 0.6, 4e4])).tolist() == [-32_768, 1, 32_767]
    assert gain(20) == pytest.approx(10)
