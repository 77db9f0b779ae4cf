"""Sound for recognizers."""

from __future__ import annotations

import wave
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, Recognizer

GO_FORWARD = Path(__file__).parents[1] / "data" / "goforward.wav"


def recorded(path: Path) -> Samples:
    """A recording of 16 kHz, mono, 16 bits."""
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


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
