"""Background sounds: never above full scale, ducked under speech, and nothing where there are none."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from audio.mixer import DUCKED_GAIN, Mixer

RATE_HZ = 8_000
FRAME = 160

samples = arrays(np.int16, FRAME, elements=st.integers(-32_768, 32_767))
volumes = st.lists(st.floats(0, 1), max_size=4)


def mixer_of(sounds: list[np.ndarray], levels: list[float]) -> Mixer:
    mixer = Mixer(RATE_HZ)
    for number, (sound, level) in enumerate(zip(sounds, levels, strict=False)):
        mixer.start(number, sound, level)
    return mixer


@given(st.lists(samples, max_size=8), st.lists(samples, max_size=4), volumes)
def test_speech_with_any_sounds_stays_within_full_scale_and_is_not_distorted(speech, sounds, levels):
    mixer = mixer_of(sounds, levels)
    for frame in speech:
        mixed = mixer.under(frame)
        assert mixed.dtype == np.int16 and len(mixed) == FRAME
        # a sample that wrapped would be further from the speech than the sounds are loud
        assert np.abs(mixed.astype(int) - frame).max() <= sum(levels) * 32_768 + 1


@given(st.integers(20_000, 32_767), st.integers(1, 200))
def test_sounds_are_lowered_as_a_whole_where_the_sum_would_clip(level: int, number: int):
    wave = (20_000 * np.sin(np.arange(FRAME) * number / 50)).astype(np.int16)
    mixer = Mixer(RATE_HZ)
    mixer.start(1, wave)
    speech = np.full(FRAME, level, np.int16)
    for _ in range(3):
        mixer.under(speech)  # until it is ducked
    added = mixer.under(speech).astype(int) - speech
    assert added.max() <= 32_767 - level
    shape = wave / 32_768 * DUCKED_GAIN
    # one gain for all samples: clipping would flatten the crests only
    scale = np.dot(added, shape) / np.dot(shape, shape)
    assert np.abs(added - scale * shape).max() <= 1.0


@given(st.lists(samples, min_size=1, max_size=5))
def test_silence_beside_speech_leaves_its_bytes(speech: list[np.ndarray]):
    mixer = mixer_of([np.zeros(1_000, np.int16)], [1.0])
    assert [mixer.under(frame).tobytes() for frame in speech] == [frame.tobytes() for frame in speech]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_ducking_follows_speech(spoken: list[bool]):
    """Under speech the level falls to the ducked one, and never rises; without, it never falls."""
    mixer = mixer_of([np.full(FRAME, 10_000, np.int16)], [1.0])
    mixer.alone(FRAME, ducked=False)  # the fade at the beginning
    level = 10_000
    for speaks in spoken:
        frame = mixer.under(np.zeros(FRAME, np.int16)) if speaks else mixer.alone(FRAME, ducked=False)
        reached = int(frame[-1])
        assert reached <= level if speaks else reached >= level
        assert round(10_000 * DUCKED_GAIN) <= reached <= 10_000
        level = reached
    for _ in range(3):
        ducked = mixer.under(np.zeros(FRAME, np.int16))
    assert ducked[-1] == round(10_000 * DUCKED_GAIN)


def test_a_sound_repeats_without_a_gap_in_any_frames():
    mixer = Mixer(RATE_HZ)
    loop = np.arange(1, 101, dtype=np.int16)
    mixer.start(1, loop)
    mixer.alone(1_000, ducked=False)
    heard = np.concatenate([mixer.alone(length, ducked=False) for length in (37, 160, 99, 1, 250)])
    assert np.array_equal(heard, np.tile(loop, 6)[: len(heard)])


def test_a_stopped_sound_fades_within_a_frame_and_is_gone():
    mixer = mixer_of([np.full(FRAME, 10_000, np.int16)], [1.0])
    mixer.alone(FRAME, ducked=False)
    mixer.stop(0)
    fade = mixer.alone(FRAME, ducked=False).astype(int)
    assert (np.diff(fade) <= 0).all() and fade[0] > 9_000 and fade[-1] == 0
    assert mixer.silent


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_no_change_of_gain_clicks(moves: list[tuple[bool, bool]]):
    """Between two samples of a constant sound the level moves by no more than the fastest fade."""
    mixer, heard = Mixer(RATE_HZ), []
    for starts, speaks in moves:
        if starts:
            mixer.start(0, np.full(50, 10_000, np.int16)) if mixer.silent else mixer.stop(0)
        frame = mixer.under(np.zeros(FRAME, np.int16)) if speaks else mixer.alone(FRAME, ducked=False)
        heard.append(frame)
    steps = np.diff(np.concatenate(heard).astype(int))
    assert np.abs(steps).max() <= 10_000 / (0.02 * RATE_HZ) + 10_000 / (0.04 * RATE_HZ) + 2
