"""A synthesizer at work, as tests of several engines have it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from audio.synthesizers import Speech, Synthesizer, speak_with
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings


@asynccontextmanager
async def at_work(synthesizer: Synthesizer) -> AsyncIterator[Synthesizer]:
    """Started, and closed at the end; twice, as closing again is to do nothing."""
    await synthesizer.start()
    try:
        yield synthesizer
    finally:
        await synthesizer.close()
        await synthesizer.close()


async def spoken(
    synthesizer: Synthesizer, text: str, settings: VoiceSettings = USUAL_SETTINGS
) -> list[Speech]:
    """All that it makes of a text."""
    return [speech async for speech in speak_with(synthesizer, text, settings)]


def length_s(synthesizer: Synthesizer, speeches: list[Speech]) -> float:
    """Return the total length of these pieces of sound."""
    return sum(len(speech.samples) for speech in speeches) / synthesizer.rate_hz
