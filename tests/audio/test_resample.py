"""Sample rate conversion of streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.polyphase import AnyRatioFilter, PolyphaseFilter
from audio.resample import Resampler, resample

PAIRS = [
    (8_000, 16_000),
    (16_000, 8_000),
    (24_000, 16_000),
    (22_050, 24_000),
    (22_050, 8_000),
    (48_000, 16_000),
    (11_025, 16_000),
    (44_100, 16_000),
    (22_255, 16_000),  # no simple ratio
]
RATES = st.sampled_from([8_000, 11_025, 16_000, 22_050, 22_255, 24_000, 44_100, 48_000])


def tone(frequency_hz: float, rate_hz: int, seconds: float = 1.0) -> np.ndarray:
    return np.rint(10_000 * np.sin(2 * np.pi * frequency_hz * np.arange(rate_hz * seconds) / rate_hz)).astype(
        np.int16
    )


def error_db(sound: np.ndarray, wanted: np.ndarray) -> float:
    """Power of the difference against a full tone of `tone`, edges left out."""
    count = min(len(sound), len(wanted))
    difference = (sound[:count].astype(float) - wanted[:count])[count // 4 : -count // 4]
    return 10 * np.log10((np.mean(difference**2) + 1e-9) / (10_000**2 / 2))


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_a_tone_in_the_voice_band_comes_out_unchanged_and_in_time(from_hz, to_hz):
    assert error_db(resample(tone(1_000, from_hz), from_hz, to_hz), tone(1_000, to_hz)) < -65


@pytest.mark.parametrize(
    ("from_hz", "to_hz", "frequency_hz"), [(24_000, 8_000, 5_000), (48_000, 16_000, 10_000)]
)
def test_a_tone_above_the_new_band_is_removed_instead_of_folded_back(from_hz, to_hz, frequency_hz):
    assert error_db(resample(tone(frequency_hz, from_hz), from_hz, to_hz), np.zeros(to_hz)) < -70


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_a_stream_holds_back_two_milliseconds_at_most(from_hz, to_hz):
    resampler = Resampler(from_hz, to_hz)
    chunk = from_hz // 50
    out = 0
    for chunks in range(1, 51):
        out += len(resampler.push(np.zeros(chunk, np.int16)))
        assert chunks * chunk / from_hz - out / to_hz <= 0.0021


@given(RATES, RATES, st.lists(st.integers(0, 700), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_the_chunks_a_stream_comes_in_do_not_matter(from_hz, to_hz, lengths, seed):
    sound = np.random.default_rng(seed).integers(-9_000, 9_000, sum(lengths)).astype(np.int16)
    resampler = Resampler(from_hz, to_hz)
    pieces = [resampler.push(piece) for piece in np.split(sound, np.cumsum(lengths))]
    pieces.append(resampler.push(sound[:0], last=True))
    assert np.array_equal(np.concatenate(pieces), resample(sound, from_hz, to_hz))


@given(RATES, RATES, st.integers(0, 3_000), st.integers(0, 2**32 - 1))
def test_both_filters_give_the_same_samples(from_hz, to_hz, length, seed):
    sound = np.random.default_rng(seed).integers(-9_000, 9_000, length).astype(np.int16)
    if from_hz == to_hz or {from_hz, to_hz} & {22_255}:
        return
    one, other = PolyphaseFilter(from_hz, to_hz), AnyRatioFilter(from_hz, to_hz)
    assert np.array_equal(one.push(sound), other.push(sound))
    assert np.array_equal(one.finish(), other.finish())


@given(RATES, RATES, st.integers(200, 5_000))
def test_a_finished_stream_has_the_length_of_its_time(from_hz, to_hz, length):
    assert abs(len(resample(np.zeros(length, np.int16), from_hz, to_hz)) - length * to_hz / from_hz) <= 3


def test_equal_rates_pass_through_untouched():
    sound = tone(440, 16_000)
    assert Resampler(16_000, 16_000).push(sound) is sound


def test_a_finished_resampler_begins_a_new_stream():
    resampler = Resampler(24_000, 16_000)
    first = resampler.push(tone(440, 24_000), last=True)
    assert np.array_equal(resampler.push(tone(440, 24_000), last=True), first)


@pytest.mark.parametrize(("from_hz", "to_hz"), [(0, 8_000), (8_000, -1)])
def test_a_rate_that_is_not_positive_is_refused(from_hz, to_hz):
    with pytest.raises(ValueError, match="must be positive"):
        Resampler(from_hz, to_hz)
