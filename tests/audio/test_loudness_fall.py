"""The first sign of a voice's end: its loudness falls."""

from __future__ import annotations

import numpy as np
import pytest
from sounds import noise

from audio.loudness import WINDOW_S, energies
from audio.loudness_fall import SURE_AFTER_S, UNSURE_S, LoudnessFall
from audio.pcm import Samples

RATE_HZ = 16_000


@pytest.mark.parametrize(
    ("behind_db", "silent"),
    [(-60, True), (-48, True), (-35, False), (-25, False)],
    ids=["quieter", "a peak of the line", "an s", "the voice"],
)
def test_sound_behind_a_pause_is_silent_unless_it_is_louder_than_the_line(
    behind_db: int, silent: bool
) -> None:
    loudness = LoudnessFall()
    for level_db, voiced in ((-50, False), (-20, True), (-50, False)):
        for windows in energies(noise(1.024, level_db).astype(np.float32).reshape(-1, 512), RATE_HZ):
            loudness.push(windows, voiced)
    behind = noise(2 * WINDOW_S, behind_db).astype(np.float32)
    assert loudness.is_silent(energies(behind[np.newaxis], RATE_HZ)[0]) is silent


def test_what_no_telephone_carries_is_silent_behind_any_pause() -> None:
    loudness = LoudnessFall()
    loudness.push((0.0,) * 4, voiced=False)
    assert loudness.is_silent(energies(noise(WINDOW_S, -65).astype(np.float32)[np.newaxis], RATE_HZ)[0])


def test_less_than_a_window_of_sound_is_silent() -> None:
    assert LoudnessFall().is_silent([])


def silent_s(before: Samples, *voice: Samples) -> float:
    """The silence at the end of a sound, in seconds, all of which but `before` is voice to the model."""
    loudness = LoudnessFall()
    silent_s = 0.0
    for sound, voiced in ((before, False), (np.concatenate(voice), True)):
        whole = sound[: len(sound) // 512 * 512].astype(np.float32).reshape(-1, 512)
        for windows in energies(whole, RATE_HZ):
            told_s = loudness.push(windows, voiced)
            silent_s = told_s + (silent_s if told_s == len(windows) * WINDOW_S else 0.0)
    return silent_s


def test_the_silence_behind_a_voice_is_told_to_a_loudness_window():
    assert silent_s(noise(1, -90), noise(1, -25), noise(0.504, -90)) == pytest.approx(0.5, abs=2 * WINDOW_S)


def test_the_noise_of_a_line_is_silence():
    assert silent_s(noise(1, -50), noise(1, -25), noise(0.504, -50)) == pytest.approx(0.5, abs=2 * WINDOW_S)


def test_a_voice_has_no_silence_behind_it():
    assert silent_s(noise(1, -90), noise(2, -25)) == 0.0


def test_a_word_that_is_lower_than_the_one_before_is_no_silence():
    assert silent_s(noise(1, -90), noise(1, -20), noise(0.2, -45)) == 0.0


def test_a_voice_that_grows_low_is_followed():
    assert silent_s(noise(1, -90), *(noise(0.5, level_db) for level_db in range(-15, -60, -3))) == 0.0


def test_in_noise_near_the_voice_nothing_is_reported():
    assert silent_s(noise(1, -35), noise(1, -20), noise(1, -35)) == 0.0


def test_what_the_model_takes_for_no_voice_is_not_reported():
    assert LoudnessFall().push([1.0] * 4, voiced=False) == 0.0


def ended_ago_s(*parts: Samples, before: Samples | None = None) -> float:
    """Return how long before the end of a sound its voice ended, if all but `before` counts as voice."""
    fall = LoudnessFall()
    for sound, voiced in ((before, False), (np.concatenate(parts), True)):
        if sound is None:
            continue
        for windows in energies(
            sound[: len(sound) // 512 * 512].astype(np.float32).reshape(-1, 512), RATE_HZ
        ):
            fall.push(windows, voiced)
    return fall.ended_ago_s()


def in_a_room(sound: Samples, share: float = 0.3, ringing_s: float = 0.5) -> Samples:
    """The sound with that of a room behind it, which falls by 60 dB in so many seconds."""
    at_s = np.arange(round(ringing_s * RATE_HZ)) / RATE_HZ
    room = np.random.default_rng(3).normal(0, 1, len(at_s)) * 10 ** (-3 * at_s / ringing_s)
    room *= share / np.sqrt(np.sum(room**2))
    heard = sound + np.convolve(sound, room)[: len(sound)]
    return heard.clip(-32_768, 32_767).astype(np.int16)


SYLLABLES = [noise(0.12, -25), noise(0.12, -90)] * 4


def test_a_voice_ended_where_it_fell_into_the_room():
    echo = [noise(0.032, level_db) for level_db in range(-42, -66, -4)]
    assert ended_ago_s(noise(1, -25), *echo) == pytest.approx(6 * 0.032, abs=3 * WINDOW_S)


def test_a_rooms_sound_behind_a_voice_is_not_the_voice():
    sound = in_a_room(np.concatenate([*SYLLABLES, noise(0.12, -25), noise(0.24, -90)]), share=0.6)
    assert ended_ago_s(sound) == pytest.approx(0.24, abs=5 * WINDOW_S)


def test_a_low_end_of_a_word_is_the_voices_where_there_is_no_room():
    word = [*SYLLABLES, noise(0.12, -25), noise(0.06, -90), noise(0.04, -38), noise(0.1, -90)]
    assert ended_ago_s(*word) == pytest.approx(0.1, abs=3 * WINDOW_S)


def test_noise_near_the_voice_is_not_the_voice():
    assert ended_ago_s(noise(1, -25), noise(0.256, -38), before=noise(1, -38)) == pytest.approx(
        0.256, abs=3 * WINDOW_S
    )


def ended_in_noise_ago_s(sure_s: float, unsure_s: float) -> float:
    """Return how long ago a voice as loud as its line ended, if the model was sure of it until then."""
    fall = LoudnessFall()
    for seconds, voiced, sure in ((1.0, False, False), (sure_s, True, True), (unsure_s, True, False)):
        sound = noise(seconds, -25)
        windows = sound[: len(sound) // 512 * 512].astype(np.float32).reshape(-1, 512)
        for means in energies(windows, RATE_HZ):
            fall.push(means, voiced, sure)
    return fall.ended_ago_s()


def test_in_noise_as_loud_a_voice_ended_when_the_model_was_last_sure_of_it():
    assert ended_in_noise_ago_s(1.0, 0.128) == pytest.approx(0.128 + SURE_AFTER_S)


def test_a_voice_that_the_model_was_sure_of_long_ago_may_have_gone_on_since():
    assert ended_in_noise_ago_s(1.0, UNSURE_S + 0.1) <= 3 * WINDOW_S


def test_on_a_quiet_line_its_loudness_tells_the_end_whatever_the_model_is_sure_of():
    fall = LoudnessFall()
    for level_db, voiced, sure in ((-90, False, False), (-25, True, True), (-25, True, False)):
        for means in energies(noise(0.256, level_db).astype(np.float32).reshape(-1, 512), RATE_HZ):
            fall.push(means, voiced, sure)
    assert fall.ended_ago_s() <= 2 * WINDOW_S


def test_a_voice_that_goes_on_has_not_ended():
    assert ended_ago_s(noise(1, -25)) <= 2 * WINDOW_S


def test_a_voice_that_goes_on_in_noise_as_loud_has_not_ended():
    assert ended_ago_s(noise(1, -25), before=noise(1, -25)) <= 2 * WINDOW_S


def test_before_any_sound_nothing_ended():
    assert LoudnessFall().ended_ago_s() == 0.0


# ---- How loud a voice is ----
