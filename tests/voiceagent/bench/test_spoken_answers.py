from __future__ import annotations

from collections.abc import AsyncGenerator

import numpy as np
from yielding.spoken_answers import speak_answers

from audio.pcm import Samples
from audio.synthesizers import Speech

ANSWER = "Of course. The pool is on the ground floor."
SPOKEN = ("Of course.", "The pool is on the ground floor.")


class CountingVoice:
    """Speaks constant audio, and keeps the texts."""

    rate_hz = 16_000

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        self.texts.append(text.strip())
        yield Speech(np.full(4, len(self.texts), np.int16))


async def said(voice, text: str) -> Samples:
    return np.concatenate([speech.samples async for speech in voice.speak(text)])


async def test_answers_are_spoken_once_fragment_by_fragment():
    made_by = CountingVoice()
    voice = await speak_answers(made_by, [ANSWER])
    for number, fragment in enumerate(SPOKEN, 1):
        assert (await said(voice, f"{fragment} ") == number).all()
    assert made_by.texts == list(SPOKEN)


async def test_other_texts_are_a_tone_at_the_voices_rate():
    voice = await speak_answers(CountingVoice(), [ANSWER])
    tone = await said(voice, "Sorry?")
    assert voice.rate_hz == 16_000
    assert len(tone) > 4 and tone.any()
