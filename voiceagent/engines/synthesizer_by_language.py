"""A synthesizer with a further engine for each language that has one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from audio.pcm import Samples
from audio.resample import Resampler
from audio.synthesizers import Speech, Synthesizer, WordTiming, known_voices, speak_with, takes_speed
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings

_NO_AUDIO: Samples = np.zeros(0, np.int16)


class SynthesizerByLanguage:
    """The usual synthesizer, and others by ISO 639 code, which `VoiceSettings.language` chooses.

    rate_hz: the usual one's; audio of the others is resampled. Known once started.
    """

    rate_hz: int
    takes_speed = False
    known_voices = KnownVoices()
    """Those of all engines; each resolves the names that clients ask for."""

    def __init__(self, usual: Synthesizer, others: Mapping[str, Synthesizer]) -> None:
        self.usual = usual
        self.others = others
        self.further_languages = tuple(others)

    async def start(self) -> None:
        """Start all engines concurrently. Raises SynthesizerError."""
        await asyncio.gather(*(engine.start() for engine in self._engines))
        self.rate_hz, self.takes_speed = self.usual.rate_hz, any(map(takes_speed, self._engines))
        known = [known_voices(engine).as_asked() for engine in self._engines]
        names = dict.fromkeys(name for voices in known for name in voices.names)
        self.known_voices = KnownVoices(tuple(names), "|".join(filter(None, (one.pattern for one in known))))

    async def close(self) -> None:
        """Close all engines; a second call does nothing."""
        await asyncio.gather(*(engine.close() for engine in self._engines))

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment with the engine of its language. Raises SynthesizerError."""
        engine = self.others.get(settings.language, self.usual)
        from_hz, to_hz = engine.rate_hz, self.rate_hz
        resampler = Resampler(from_hz, to_hz) if from_hz != to_hz else None
        async with aclosing(speak_with(engine, text, replace(settings, language=""))) as speeches:
            async for speech in speeches:
                yield speech if resampler is None else _resampled(speech, resampler, to_hz / from_hz)
        if resampler is not None and len(rest := resampler.push(_NO_AUDIO, last=True)):
            yield Speech(rest)

    @property
    def _engines(self) -> tuple[Synthesizer, ...]:
        return (self.usual, *self.others.values())


def _resampled(speech: Speech, resampler: Resampler, ratio: float) -> Speech:
    words = tuple(WordTiming(word.character, round(word.at_samples * ratio)) for word in speech.words)
    return Speech(resampler.push(speech.samples), words)
