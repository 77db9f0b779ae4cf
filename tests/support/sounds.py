"""Sound for recognizers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, Recognizer
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer


async def said(text: str) -> Samples:
    """A synthetic voice that says `text`, with a breath of silence around it, at 16 kHz."""
    synthesizer = EspeakSynthesizer()
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


async def heard(recognizer: Recognizer, sound: AsyncIterator[Samples | Flush]) -> list[Hypothesis]:
    """All hypotheses of an utterance."""
    return [hypothesis async for hypothesis in recognizer.recognize(sound)]
