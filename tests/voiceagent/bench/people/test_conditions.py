from __future__ import annotations

import numpy as np
import pytest
from people.conditions import parse_conditions, said_again, under
from people.material import Clip

from voiceagent.transports.local_call import FORMAT
from voiceagent.validation.errors import CommandFailed

AT_S = np.arange(2 * FORMAT.rate_hz) / FORMAT.rate_hz
HIGH = Clip("high", np.rint(8_000 * np.sin(2 * np.pi * 5_000 * AT_S)).astype(np.int16), None, "question", 1.5)
MIDDLE = Clip(
    "low", np.rint(8_000 * np.sin(2 * np.pi * 1_000 * AT_S)).astype(np.int16), None, "question", 1.5
)


def level(clip: Clip) -> float:
    middle = clip.sound[FORMAT.rate_hz // 2 : FORMAT.rate_hz].astype(np.float64)
    return float(np.sqrt(np.mean(middle**2)))


def test_a_telephone_passes_a_voices_band_and_nothing_above():
    telephone = parse_conditions("telephone")
    assert level(under(MIDDLE, telephone)) == pytest.approx(level(MIDDLE), rel=0.1)
    assert level(under(HIGH, telephone)) < 0.01 * level(HIGH)


def test_a_room_sounds_on_after_the_voice():
    sound = MIDDLE.sound.copy()
    sound[FORMAT.rate_hz :] = 0
    clip = Clip("short", sound, None, "question", 1.0)
    tail = slice(FORMAT.rate_hz, FORMAT.rate_hz + 2_400)
    near, far = (
        under(clip, parse_conditions(name)).sound[tail].astype(np.float64) for name in ("room", "far")
    )
    assert not clip.sound[tail].any() and np.abs(near).max() > 100
    assert len(near) == len(far) == 2_400


def test_a_room_rings_for_as_long_as_was_asked():
    sound = MIDDLE.sound.copy()
    sound[FORMAT.rate_hz :] = 0
    clip = Clip("short", sound, None, "question", 1.0)
    late = slice(round(1.2 * FORMAT.rate_hz), round(1.3 * FORMAT.rate_hz))
    short, middle, long = (
        float(np.abs(under(clip, parse_conditions(name)).sound[late]).mean())
        for name in ("room=0.3", "room", "room=0.8")
    )
    assert short < middle < long


def test_noise_is_as_much_lower_than_the_voice_as_was_asked():
    noisy = under(MIDDLE, parse_conditions("noise=20"))
    noise = noisy.sound.astype(np.float64) - MIDDLE.sound
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(level(MIDDLE) / 10, rel=0.1)


def test_tempo_changes_the_length_and_the_label_but_not_the_pitch():
    faster = under(MIDDLE, parse_conditions("tempo=1.25"))
    assert len(faster.sound) == pytest.approx(len(MIDDLE.sound) / 1.25, rel=0.01)
    assert faster.voice_end_s == pytest.approx(1.2)
    spectrum = np.abs(np.fft.rfft(faster.sound[: FORMAT.rate_hz].astype(np.float64)))
    assert int(spectrum.argmax()) == pytest.approx(1_000, abs=20)


def test_the_longest_pause_is_stretched_and_the_end_moves_along():
    voice, second = MIDDLE.sound[: FORMAT.rate_hz], FORMAT.rate_hz
    silence = np.zeros(second // 4, np.int16)
    clip = Clip("paused", np.concatenate([voice, silence, voice, silence]), None, "question", 2.25)
    longer = under(clip, parse_conditions("pause=0.5"))
    assert longer.voice_end_s == pytest.approx(2.75)
    assert len(longer.sound) == len(clip.sound) + second // 2
    assert not longer.sound[second : second + second * 3 // 4].any()
    assert under(MIDDLE, parse_conditions("pause=0.5")) is MIDDLE


@pytest.mark.parametrize("text", ["cave", "noise=", "tempo=9", "room=9", "far=2", "pause=-1"])
def test_a_condition_that_there_is_not_is_refused(text):
    with pytest.raises(CommandFailed, match="allowed: telephone, room"):
        parse_conditions(f"telephone,{text}")


def test_what_is_said_again_begins_later_and_ends_as_much_later():
    first, second, third = said_again([MIDDLE], 3)
    assert first is MIDDLE
    for clip, late_s in ((second, 0.007), (third, 0.014)):
        assert np.array_equal(clip.sound[round(late_s * FORMAT.rate_hz) :], MIDDLE.sound)
        assert clip.voice_end_s == pytest.approx(MIDDLE.voice_end_s + late_s)
        assert clip.name != MIDDLE.name


def test_nothing_is_said_less_than_once():
    with pytest.raises(CommandFailed, match="--times is 0; allowed: 1 or more"):
        said_again([MIDDLE], 0)
