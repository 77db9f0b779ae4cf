"""A synthesizer with a further engine for each language."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import numpy as np
import pytest

from audio.synthesizers import Speech, WordTiming, further_languages, speak_with
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from voiceagent.engines.languages import SynthesizerByLanguage


class Voice:
    """Says a second of its own loudness, and keeps the texts and settings."""

    takes_speed = True

    def __init__(self, rate_hz: int, level: int, *voices: str) -> None:
        self.rate_hz, self.level, self.known_voices = rate_hz, level, KnownVoices(voices)
        self.said: list[tuple[str, VoiceSettings]] = []
        self.started = self.closed = 0

    async def start(self) -> None:
        self.started += 1

    async def close(self) -> None:
        self.closed += 1

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        self.said.append((text, settings))
        samples = np.full(self.rate_hz, self.level, np.int16)
        yield Speech(samples, (WordTiming(0, self.rate_hz // 2),))


@pytest.fixture
async def voices() -> AsyncGenerator[tuple[SynthesizerByLanguage, Voice, Voice], None]:
    """Start an English voice at 24 kHz, and a German one at 16 kHz."""
    english, german = Voice(24_000, 1000, "amy"), Voice(16_000, 2000, "thorsten")
    both = SynthesizerByLanguage(english, {"de": german})
    await both.start()
    yield both, english, german
    await both.close()
    assert (english.closed, german.closed) == (1, 1)


async def spoken(voices: SynthesizerByLanguage, settings: VoiceSettings) -> list[Speech]:
    """Speak a text."""
    return [speech async for speech in speak_with(voices, "Eins.", settings)]


async def test_text_without_a_language_is_the_usual_engines(
    voices: tuple[SynthesizerByLanguage, Voice, Voice],
) -> None:
    both, english, german = voices
    (speech,) = await spoken(both, USUAL_SETTINGS)
    assert len(speech.samples) == 24_000 and not german.said
    assert english.said == [("Eins.", USUAL_SETTINGS)]


async def test_text_in_a_language_is_its_engines_at_the_usual_rate(
    voices: tuple[SynthesizerByLanguage, Voice, Voice],
) -> None:
    both, english, german = voices
    speeches = await spoken(both, VoiceSettings(speed=1.5, language="de"))
    sound = np.concatenate([speech.samples for speech in speeches])
    assert abs(len(sound) - 24_000) < 240 and abs(int(np.median(sound)) - 2000) < 20
    assert [word.at_samples for speech in speeches for word in speech.words] == [12_000]
    assert german.said == [("Eins.", VoiceSettings(speed=1.5))] and not english.said


async def test_each_engine_takes_the_voices_that_it_has(
    voices: tuple[SynthesizerByLanguage, Voice, Voice],
) -> None:
    both, english, german = voices
    await spoken(both, VoiceSettings("thorsten", language="de"))
    await spoken(both, VoiceSettings("amy", language="de"))
    await spoken(both, VoiceSettings("amy"))
    assert [settings.voice for _, settings in german.said] == ["thorsten", ""]
    assert [settings.voice for _, settings in english.said] == ["amy"]


async def test_other_language_is_the_usual_engines(
    voices: tuple[SynthesizerByLanguage, Voice, Voice],
) -> None:
    both, english, _ = voices
    assert further_languages(both) == ("de",)
    await spoken(both, VoiceSettings(language="es"))
    assert english.said == [("Eins.", USUAL_SETTINGS)]
