"""Echo cancellation: the agent's own voice goes, the caller's stays."""

from __future__ import annotations

import numpy as np
import pytest

from audio.echo import FRAME_SAMPLES, SAMPLE_RATE_HZ, EchoCanceller

pytest.importorskip("livekit.rtc", reason="livekit is not installed (extra: echo)")
pytestmark = pytest.mark.usefixtures("livekit_runtime")


ECHO_DELAY = 1_120  # samples, 70 ms


def speech_like(seconds: float, seed: int) -> np.ndarray:
    """Noise in syllables: loud and soft by turns, as speech is."""
    random = np.random.default_rng(seed)
    count = round(seconds * SAMPLE_RATE_HZ)
    loudness = np.repeat(random.uniform(0, 1, count // 1600 + 1) ** 2, 1600)[:count]
    tone = np.convolve(random.normal(0, 1, count), np.ones(8) / 8, mode="same")
    return (tone * loudness * 8_000).astype(np.int16)


def loudness_db(sound: np.ndarray) -> float:
    return 10 * float(np.log10(np.mean(sound.astype(float) ** 2) + 1))


def run(agent: np.ndarray, caller: np.ndarray) -> np.ndarray:
    """The cleaned sound of a speakerphone that hears the caller and, later and softer, the agent."""
    echo = np.concatenate((np.zeros(ECHO_DELAY, np.int16), agent))[: len(agent)] // 3
    microphone = (echo.astype(np.int32) + caller).clip(-32_768, 32_767).astype(np.int16)
    canceller = EchoCanceller(noise=False)
    cleaned = []
    for at in range(0, len(agent), 320):
        canceller.play(agent[at : at + 320])
        cleaned.append(canceller.hear(microphone[at : at + 320]))
    return np.concatenate(cleaned)


def test_the_agents_voice_is_taken_out():
    agent = speech_like(6.0, 1)
    cleaned = run(agent, np.zeros_like(agent))
    settled = slice(3 * SAMPLE_RATE_HZ, None)
    assert loudness_db(cleaned[settled]) < loudness_db((agent // 3)[settled]) - 20


def test_an_echo_that_is_known_is_taken_out_at_once_after_a_long_delay():
    agent, delay_s = speech_like(4.0, 1), 0.6
    delay, half = round(delay_s * SAMPLE_RATE_HZ), 2 * SAMPLE_RATE_HZ
    microphone = np.concatenate((np.zeros(delay, np.int16), agent))[: len(agent)] // 3
    canceller = EchoCanceller(noise=False, delay_s=delay_s)
    canceller.converge(agent[:half], microphone[:half])
    cleaned = []
    for at in range(half, len(agent), 320):
        canceller.play(agent[at : at + 320])
        cleaned.append(canceller.hear(microphone[at : at + 320]))
    assert loudness_db(np.concatenate(cleaned)) < loudness_db(microphone[half:]) - 20


def test_learning_returns_the_same_audio_cleaned():
    agent = speech_like(1.0, 1)
    canceller = EchoCanceller(noise=False, delay_s=0.05)
    assert len(canceller.converge(agent, agent // 3, passes=2)) == len(agent)


def test_the_callers_voice_stays():
    caller = speech_like(6.0, 2)
    cleaned = run(np.zeros_like(caller), caller)
    settled = slice(3 * SAMPLE_RATE_HZ, None)
    assert loudness_db(cleaned[settled]) > loudness_db(caller[settled]) - 6


def test_pieces_of_any_length_come_out_in_whole_frames():
    canceller = EchoCanceller()
    lengths = [len(canceller.hear(np.zeros(n, np.int16))) for n in (100, 100, 333, 27)]
    assert lengths == [0, FRAME_SAMPLES, 2 * FRAME_SAMPLES, 0]
    assert sum(lengths) == 560 // FRAME_SAMPLES * FRAME_SAMPLES
