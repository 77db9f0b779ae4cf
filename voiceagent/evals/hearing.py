"""Hearing of simulated callers: a recognizer understands the agent's voice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Recognizer
from audio.resample import resample
from voiceagent.evals.delivery import RATE_HZ
from voiceagent.evals.virtual_engines import EngineThread

PAUSE_S = 0.2
"""Pause in playout after which an utterance begins: a recognizer gets one utterance at a time."""


class Hearing:
    """A recognizer that takes no time of the call. Audio that was heard before is not recognized again."""

    def __init__(self, recognizer: Recognizer, thread: EngineThread) -> None:
        self._recognizer = recognizer
        self._thread = thread
        self._known: dict[bytes, str] = {}

    async def start(self) -> None:
        """Start the recognizer. Raises RecognizerError."""
        await self._thread.run(self._recognizer.start())

    async def close(self) -> None:
        await self._thread.run(self._recognizer.close())

    async def words(self, utterances: Sequence[Samples]) -> str:
        """Return the words of utterances [n] at 24 kHz. Raises RecognizerError."""
        words = []
        for sound in utterances:
            key = sound.tobytes()
            if key not in self._known:
                self._known[key] = await self._thread.run(_transcript(self._recognizer, sound))
            words.append(self._known[key])
        return " ".join(text for text in words if text)


class PlayedSound:
    """The agent's audio as it is played to a caller; times are the event loop's."""

    def __init__(self) -> None:
        self._frames: list[tuple[float, Samples]] = []

    def play(self, frame: Samples, begin_s: float) -> None:
        """Add a frame [n] after those before it."""
        self._frames.append((begin_s, frame))

    def clear(self, now_s: float) -> None:
        """Drop frames that have not begun."""
        while self._frames and self._frames[-1][0] >= now_s:
            self._frames.pop()

    def take(self, now_s: float) -> list[Samples]:
        """Remove the frames that have begun; return their audio [n] by utterance, without silent ones."""
        begun = [one for one in self._frames if one[0] < now_s]
        del self._frames[: len(begun)]
        return [sound for sound in _utterances(begun) if sound.any()]


def _utterances(frames: Sequence[tuple[float, Samples]]) -> Iterator[Samples]:
    utterance: list[Samples] = []
    end_s = 0.0
    for begin_s, frame in frames:
        if utterance and begin_s - end_s >= PAUSE_S:
            yield np.concatenate(utterance)
            utterance = []
        utterance.append(frame)
        end_s = begin_s + len(frame) / RATE_HZ
    if utterance:
        yield np.concatenate(utterance)


async def _transcript(recognizer: Recognizer, sound: Samples) -> str:
    async def utterance() -> AsyncIterator[Samples | Flush]:
        yield resample(sound, RATE_HZ, SAMPLE_RATE_HZ)

    text = ""
    async with aclosing(recognizer.recognize(utterance())) as hypotheses:
        async for hypothesis in hypotheses:
            text = hypothesis.text
    return text.strip()
