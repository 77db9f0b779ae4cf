"""Sounds for recognizers and voice activity detectors."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np

from audio.detection.vad import WINDOW_SAMPLES
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, Recognizer
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer
from voiceagent.engines.hosted import hosted


async def said(text: str) -> Samples:
    """A synthetic voice that says `text`, with a breath of silence around it, at 16 kHz."""
    synthesizer = hosted(EspeakSynthesizer)
    await synthesizer.start()
    sound = np.concatenate([speech.samples async for speech in synthesizer.speak(text)])
    await synthesizer.close()
    at_rate = resample(sound, synthesizer.rate_hz, SAMPLE_RATE_HZ)
    return np.pad(at_rate, SAMPLE_RATE_HZ // 5)


async def chunks(*parts: Samples | Flush, length: int = 320) -> AsyncIterator[Samples | Flush]:
    """Sound in chunks of `length` samples, and flushes, as fast as they are taken."""
    for part in parts:
        if isinstance(part, Flush):
            yield part
            continue
        for begin in range(0, len(part), length):
            yield part[begin : begin + length]


async def recognized(recognizer: Recognizer, sound: AsyncIterator[Samples | Flush]) -> list[Hypothesis]:
    """All hypotheses of an utterance."""
    return [hypothesis async for hypothesis in recognizer.recognize(sound)]


def noise(seconds: float, level_db: float) -> Samples:
    """White noise of so many dB of full scale, at 16 kHz."""
    scale = 32_768 * 10 ** (level_db / 20)
    samples = np.random.default_rng(7).normal(0, scale, round(seconds * SAMPLE_RATE_HZ))
    return samples.clip(-32_768, 32_767).astype(np.int16)


def voice_like(windows: int, seed: int = 0) -> Samples:
    """Syllables of a vowel that glides from "a" to "i": harmonics of a gliding pitch under three formants.

    windows: of voice activity, which it lasts.
    """
    rng = np.random.default_rng(seed)
    time_s = np.arange(windows * WINDOW_SAMPLES) / SAMPLE_RATE_HZ
    pitch_hz = (110 + 10 * seed) * (1 + 0.1 * np.sin(2 * np.pi * 2.3 * time_s))
    phase = 2 * np.pi * np.cumsum(pitch_hz) / SAMPLE_RATE_HZ
    open_mouth = 0.5 + 0.5 * np.sin(2 * np.pi * 1.7 * time_s)
    formants_hz = (300 + 400 * open_mouth, 2_200 - 1_050 * open_mouth, 2_500 + 300 * open_mouth)
    sound = np.zeros(len(time_s))
    for harmonic in range(1, 35):
        distances = [(harmonic * pitch_hz - formant) / 110 for formant in formants_hz]
        loudness = sum(1 / (1 + distance**2) / rank for rank, distance in enumerate(distances, 1))
        sound += loudness * np.sin(harmonic * phase)
    sound *= np.clip(np.sin(2 * np.pi * 4 * time_s) + 0.6, 0, 1)
    return (9_000 * sound / np.abs(sound).max() + rng.normal(0, 20, len(time_s))).astype(np.int16)
