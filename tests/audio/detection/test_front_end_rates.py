"""Sound at the rates of clients and lines in the windows of the model."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from front_end_calls import ignore
from sounds import voice_like

from audio.detection.front_end import FrontEnd
from audio.detection.front_end_stream import Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES
from audio.pcm import Samples
from audio.resample import resample

RATES = (8_000, 16_000, 24_000, 48_000)


async def windows_of(front_end: FrontEnd, sounds: dict[int, Samples]) -> dict[int, list[Window]]:
    """Return the windows of sounds, by sample rate, that arrive together in frames of 20 ms."""
    told: dict[int, list[Window]] = {rate_hz: [] for rate_hz in sounds}
    streams = {rate_hz: front_end.open(rate_hz, told[rate_hz].append) for rate_hz in sounds}
    for frame in range(50):
        for rate_hz, sound in sounds.items():
            streams[rate_hz].push(sound[frame * rate_hz // 50 : (frame + 1) * rate_hz // 50])
        await asyncio.sleep(0)
    while any(stream.has_window for stream in streams.values()):  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    return told


@pytest.mark.parametrize("rate_hz", RATES)
async def test_windows_are_the_sound_that_the_rate_filter_makes(vad_model, rate_hz):
    sound = resample(voice_like(40), SAMPLE_RATE_HZ, rate_hz)
    told = (await windows_of(FrontEnd(vad_model), {rate_hz: sound}))[rate_hz]
    made = np.concatenate([window.sound for window in told])
    wanted = resample(sound, rate_hz, SAMPLE_RATE_HZ)[: len(made)]
    assert len(made) == 31 * WINDOW_SAMPLES
    assert np.abs(made.astype(int) - wanted).max() <= 1  # single precision


async def test_calls_of_several_rates_share_runs(vad_model):
    sounds = {rate_hz: resample(voice_like(40, rate_hz % 7), SAMPLE_RATE_HZ, rate_hz) for rate_hz in RATES}
    together = await windows_of(FrontEnd(vad_model), sounds)
    for rate_hz, sound in sounds.items():
        alone_told = (await windows_of(FrontEnd(vad_model), {rate_hz: sound}))[rate_hz]
        assert [window.probability for window in together[rate_hz]] == [w.probability for w in alone_told]
        for window, other in zip(together[rate_hz], alone_told, strict=True):
            assert np.array_equal(window.sound, other.sound)


@pytest.mark.parametrize("rate_hz", RATES)
async def test_what_is_drained_goes_on_where_the_windows_ended(vad_model, rate_hz):
    sound = resample(voice_like(20), SAMPLE_RATE_HZ, rate_hz)
    told: list[Window] = []
    stream = FrontEnd(vad_model).open(rate_hz, told.append)
    stream.push(sound[: rate_hz // 10])
    while stream.has_window:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    stream.push(sound[rate_hz // 10 :])
    rest = stream.drain()
    assert stream.pending_s == 0
    await asyncio.sleep(0.02)
    assert len(told) == 3  # nothing that was drained is told as well
    made = np.concatenate([*(window.sound for window in told), rest])
    wanted = resample(sound, rate_hz, SAMPLE_RATE_HZ)
    assert abs(len(made) - len(wanted)) <= 1
    inner = min(len(made), len(wanted)) - 64  # silence is taken to follow what is drained
    assert np.abs(made[:inner].astype(int) - wanted[:inner]).max() <= 1


@pytest.mark.parametrize("rate_hz", RATES)
def test_where_nothing_waits_nothing_is_drained(vad_model, rate_hz):
    assert len(FrontEnd(vad_model).open(rate_hz, ignore).drain()) == 0


async def test_a_stream_goes_on_at_another_rate(vad_model):
    told: list[Window] = []
    stream = FrontEnd(vad_model).open(24_000, told.append)
    stream.push(np.zeros(2_400, np.int16))
    stream.drain()
    stream.change_rate(8_000)
    stream.push(np.full(8_000 // 10, 1_000, np.int16))
    while stream.has_window:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    assert [len(window.sound) for window in told] == [WINDOW_SAMPLES] * 3
    assert told[1].sound.min() >= 999


def test_a_rate_without_whole_windows_is_refused(vad_model):
    with pytest.raises(ValueError, match="22255 Hz"):
        FrontEnd(vad_model).open(22_255, ignore)
