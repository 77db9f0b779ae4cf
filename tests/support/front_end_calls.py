"""Calls at the front end, and the windows they get."""

from __future__ import annotations

import asyncio

from audio.detection.front_end import FrontEnd
from audio.detection.front_end_stream import FrontEndStream, Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad


class CountingModel:
    """The real model, with a note of the rows of every run."""

    def __init__(self, model: SileroVad) -> None:
        self._model = model
        self.after_silence = model.after_silence
        self.rows: list[int] = []

    def load(self) -> None:
        pass

    def run(self, windows, states):
        self.rows.append(len(windows))
        return self._model.run(windows, states)


def open_stream(front_end: FrontEnd, told: list[float], rate_hz: int = SAMPLE_RATE_HZ) -> FrontEndStream:
    """A stream that notes its probabilities."""
    return front_end.open(rate_hz, lambda window: told.append(window.probability))


def ignore(_: Window) -> None:
    """Ignore the event."""


async def judged(*told: list[float], windows: int) -> None:
    """Wait until each of the lists holds so many probabilities."""
    while not all(len(probabilities) >= windows for probabilities in told):  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)


async def alone(vad_model, sound) -> list[float]:
    """Return the stream's probabilities when no other is open."""
    told: list[float] = []
    open_stream(FrontEnd(vad_model), told).push(sound)
    await judged(told, windows=len(sound) // WINDOW_SAMPLES)
    return told
