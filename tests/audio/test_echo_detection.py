"""Detection of the agent's echo: the agent's audio in the caller's, at any level and delay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.echo_detection import DETECTION_HZ, MAX_DELAY_S, find_echo
from audio.surroundings import in_random_room

SEEDS = st.integers(0, 10_000)


def voice(seconds: float, seed: int) -> np.ndarray:
    """Noise in syllables, coloured as a voice is, at 8 kHz."""
    random = np.random.default_rng(seed)
    count = round(seconds * DETECTION_HZ)
    loudness = np.repeat(random.uniform(0, 1, count // 800 + 1) ** 2, 800)[:count]
    tone = np.convolve(random.normal(0, 1, count), np.ones(4) / 4, mode="same")
    return tone * loudness * 8_000


def samples(wave: np.ndarray) -> np.ndarray:
    return np.rint(wave).clip(-32_768, 32_767).astype(np.int16)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.floats(0.0, MAX_DELAY_S - 0.01), st.floats(-30.0, 0.0))
def test_an_echo_is_found_with_its_delay(seed: int, delay_s: float, level_db: float):
    agent, delay, count = voice(2.0, seed), round(delay_s * DETECTION_HZ), round(0.5 * DETECTION_HZ)
    received = agent[len(agent) - count - delay : len(agent) - delay] * 10 ** (level_db / 20)
    echo = find_echo(samples(agent[-round(1.5 * DETECTION_HZ) :]), samples(received))
    assert echo is not None and echo.delay_s == pytest.approx(delay_s, abs=0.002)


def test_an_echo_of_a_room_is_found():
    agent = voice(2.0, 1)
    room = in_random_room(agent, np.random.default_rng(1), DETECTION_HZ)
    received = room[-DETECTION_HZ - 800 : -800] * 0.1
    echo = find_echo(samples(agent), samples(received))
    assert echo is not None and echo.delay_s == pytest.approx(0.1, abs=0.01)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.floats(0.15, 1.0))
def test_another_voice_is_no_echo(seed: int, seconds: float):
    agent, caller = voice(seconds + MAX_DELAY_S, seed), voice(seconds, seed + 20_000)
    assert find_echo(samples(agent), samples(caller)) is None


@pytest.mark.parametrize(("agent", "caller"), [(0, 1), (1, 0)])
def test_silence_on_either_side_is_no_echo(agent: int, caller: int):
    assert find_echo(samples(agent * voice(2.0, 1)), samples(caller * voice(1.0, 1))) is None
