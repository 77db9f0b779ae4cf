"""The sound of one call in windows, with the real model of voice activity."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from front_end_calls import alone, ignore, judged, open_stream
from sounds import voice_like

from audio.detection.front_end import FrontEnd
from audio.detection.front_end_stream import MAX_PENDING_S, Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES

RNG = np.random.default_rng(7)


async def test_every_window_is_reported_once_however_sound_is_cut(vad_model):
    sound = voice_like(30)
    whole = await alone(vad_model, sound)
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    for piece in np.split(sound, np.sort(RNG.integers(0, len(sound), 40))):
        stream.push(piece)
        await asyncio.sleep(0)
    await judged(told, windows=30)
    assert told == whole


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
async def test_of_sound_that_waits_the_loudness_is_known_by_whole_windows(vad_model, rate_hz):
    stream = FrontEnd(vad_model).open(rate_hz, ignore)
    length = rate_hz * 8 // 1_000
    waiting = np.repeat(np.array([100, 200, 300], np.int16), length)
    stream.push(waiting)
    assert stream.energies(0.017) == pytest.approx([100**2, 200**2])
    assert stream.energies(0.007) == []
    stream.push(waiting)  # the sound that was looked at can grow on


async def test_less_than_a_window_is_kept_for_later(vad_model):
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    stream.push(np.zeros(WINDOW_SAMPLES - 1, np.int16))
    await asyncio.sleep(0.02)
    assert told == []
    assert stream.pending_s == (WINDOW_SAMPLES - 1) / SAMPLE_RATE_HZ
    stream.push(np.zeros(1, np.int16))
    await judged(told, windows=1)
    assert stream.pending_s == 0


async def test_a_closed_stream_hears_nothing_more(vad_model):
    front_end = FrontEnd(vad_model)
    told: list[float] = []
    other: list[float] = []
    stream = open_stream(front_end, told)
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    stream.close()
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    open_stream(front_end, other).push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    await judged(other, windows=2)
    assert told == []


async def test_a_reset_stream_begins_as_if_new(vad_model):
    sound = voice_like(10)
    new = await alone(vad_model, sound)
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    stream.push(voice_like(5, seed=3))
    await judged(told, windows=5)
    stream.push(np.ones(100, np.int16))
    stream.reset()
    stream.push(sound)
    await judged(told, windows=15)
    assert told[5:] == new


async def test_sound_too_far_ahead_of_the_model_is_refused(vad_model):
    stream = FrontEnd(vad_model).open(SAMPLE_RATE_HZ, ignore)
    stream.push(np.zeros(int(MAX_PENDING_S * SAMPLE_RATE_HZ), np.int16))
    with pytest.raises(BufferError, match=r"60\.0 s of sound wait to be judged"):
        stream.push(np.zeros(1, np.int16))
    stream.close()


async def test_a_window_tells_how_loud_its_quarters_are(vad_model):
    told: list[Window] = []
    sound = np.repeat(np.array([0, 100, 1_000, 10_000], np.int16), WINDOW_SAMPLES // 4)
    FrontEnd(vad_model).open(SAMPLE_RATE_HZ, told.append).push(sound)
    while not told:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0)
    assert told[0].energies == [0, 1e4, 1e6, 1e8]
