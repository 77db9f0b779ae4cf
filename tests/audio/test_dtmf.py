"""Keys as tones: what is generated is detected, within the tolerances of ITU-T Q.24; voices are no keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio import dtmf
from audio.dtmf import DtmfDetector, length_s, tones
from audio.pcm import AudioFormat, Samples, decode, encode
from audio.resample import resample
from audio.wav import read_wav

KEYS = "0123456789*#ABCD"
RECORDED = Path(__file__).parents[3] / "shared" / "speech"
keys = st.text(KEYS, min_size=1, max_size=5)
rates = st.sampled_from([8_000, 16_000, 24_000])


def detected(sound: Samples, rate_hz: int, piece: int = 160) -> str:
    detector = DtmfDetector(rate_hz)
    return "".join(detector.push(sound[begin : begin + piece]) for begin in range(0, len(sound), piece))


def a_key(key: str, seconds: float, low_db: float, twist_db: float, offset: float) -> np.ndarray:
    row = next(index for index, row in enumerate(dtmf.KEYS) if key in row)
    at_s = np.arange(round(seconds * 8_000)) / 8_000
    low = 32_767 * 10 ** (low_db / 20)
    tone = low * np.sin(2 * np.pi * dtmf.ROWS_HZ[row] * (1 + offset) * at_s)
    column_hz = dtmf.COLUMNS_HZ[dtmf.KEYS[row].index(key)] * (1 + offset)
    return tone + low * 10 ** (twist_db / 20) * np.sin(2 * np.pi * column_hz * at_s + 1.0)


@settings(max_examples=50, deadline=None)
@given(keys=keys, rate_hz=rates, piece=st.integers(1, 700))
def test_generated_keys_are_detected_at_every_rate_and_in_any_pieces(
    keys: str, rate_hz: int, piece: int
) -> None:
    assert detected(tones(keys, rate_hz), rate_hz, piece) == keys


@given(keys=st.text(KEYS + "w", max_size=8), rate_hz=rates)
def test_the_length_of_keys_is_that_of_their_sound(keys: str, rate_hz: int) -> None:
    assert len(tones(keys, rate_hz)) == pytest.approx(length_s(keys) * rate_hz, abs=len(keys))


@settings(max_examples=100, deadline=None)
@given(
    key=st.sampled_from(KEYS),
    seconds=st.floats(0.04, 0.3),
    low_db=st.floats(-34, -10),
    twist_db=st.floats(-8, 4),
    offset=st.floats(-0.015, 0.015),
    silence=st.integers(0, 1_000),
    seed=st.integers(0, 1_000),
)
def test_a_key_within_the_tolerances_is_detected_once(
    key: str, seconds: float, low_db: float, twist_db: float, offset: float, silence: int, seed: int
) -> None:
    sound = np.concatenate([np.zeros(silence), a_key(key, seconds, low_db, twist_db, offset), np.zeros(800)])
    noise_rms = 32_767 * 10 ** ((low_db - 20) / 20)
    noise = np.random.default_rng(seed).normal(0, noise_rms / np.sqrt(2), len(sound))
    heard = np.clip(sound + noise, -32_768, 32_767).astype(np.int16)
    heard = decode(encode(heard, AudioFormat.PCMU), AudioFormat.PCMU)
    assert detected(heard, 8_000) == key


@pytest.mark.parametrize("offset", [-0.04, 0.04])
def test_tones_of_other_frequencies_are_no_keys(offset: float) -> None:
    for key in KEYS:
        assert detected(a_key(key, 0.2, -12, 0, offset).astype(np.int16), 8_000) == ""


@settings(max_examples=50, deadline=None)
@given(hz=st.floats(200, 3_400), other_hz=st.floats(200, 3_400), amplitude=st.integers(500, 15_000))
def test_one_tone_and_its_harmonics_are_no_key(hz: float, other_hz: float, amplitude: int) -> None:
    at_s = np.arange(8_000) / 8_000
    sound = sum(amplitude / n * np.sin(2 * np.pi * hz * n * at_s) for n in (1, 2, 3) if hz * n < 4_000)
    assert detected((sound / 2).astype(np.int16), 8_000) == ""
    single = amplitude * np.sin(2 * np.pi * other_hz * at_s)
    assert detected(single.astype(np.int16), 8_000) == ""


@pytest.mark.parametrize("level", [100, 1_000, 10_000])
def test_noise_is_no_key(level: int) -> None:
    noise = np.random.default_rng(level).normal(0, level, 8_000 * 20)
    assert detected(np.clip(noise, -32_768, 32_767).astype(np.int16), 8_000) == ""


def test_call_progress_tones_are_no_keys() -> None:
    """Dial tone, ringing and busy in North America (350, 440, 480, 620 Hz), fax 1100 and 2100 Hz."""
    at_s = np.arange(16_000) / 8_000
    for pair in ((350, 440), (440, 480), (480, 620), (1_100, 1_100), (2_100, 2_100), (1_000, 1_400)):
        sound = sum(6_000 * np.sin(2 * np.pi * hz * at_s) for hz in pair)
        assert detected(np.asarray(sound).astype(np.int16), 8_000) == ""


@pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded speech is not here")
@pytest.mark.parametrize("rate_hz", [8_000, 16_000])
def test_recorded_people_press_no_keys(rate_hz: int) -> None:
    for path in sorted(RECORDED.rglob("*.wav")):
        sound, recorded_hz = read_wav(path)
        assert detected(resample(sound, recorded_hz, rate_hz), rate_hz) == "", path.name
