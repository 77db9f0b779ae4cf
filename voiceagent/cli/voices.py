"""`voiceagent voices`: lists the voices of the configured synthesizer, and writes a text in one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

import numpy as np

from audio.pcm import Samples
from audio.synthesizers import Synthesizer, SynthesizerError, known_voices, speak_with
from audio.synthesizers.voices import KnownVoices, VoiceSettings
from audio.wav import write_wav
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.validation.errors import CommandFailed, reason_of


def print_voices(config: Config) -> None:
    """Print the voices of the configured synthesizer, one a line. Raises CommandFailed, ConfigError."""

    async def known() -> KnownVoices:
        async with _started(config) as synthesizer:
            return known_voices(synthesizer)

    print("\n".join(_lines(asyncio.run(known()), config.synthesizer.engine)))


def say(config: Config, voice: str, text: str, out: Path) -> None:
    """Write `text` in a voice as a WAV file. Raises CommandFailed, ConfigError.

    voice: a name that `print_voices` lists or that fits its pattern; "" for the usual voice.
    """
    samples, rate_hz = asyncio.run(_spoken(config, voice, text))
    if not len(samples):
        raise CommandFailed(f"text {text!r} has nothing that can be spoken")
    try:
        write_wav(out, samples, rate_hz)
    except OSError as error:
        raise CommandFailed(f"cannot write {out}: {reason_of(error)}") from error
    print(f"{out}: {len(samples) / rate_hz:.1f} s")


async def _spoken(config: Config, voice: str, text: str) -> tuple[Samples, int]:
    """Return the sound of a text and its sample rate. Raises CommandFailed."""
    async with _started(config) as synthesizer:
        known = known_voices(synthesizer)
        if voice and not known.has(voice):
            engine = config.synthesizer.engine
            raise CommandFailed(f"voice {voice!r} is not one of {engine}; allowed: {_allowed(known)}")
        async with aclosing(speak_with(synthesizer, text, VoiceSettings(voice))) as speeches:
            sounds = [speech.samples async for speech in speeches]
        return np.concatenate([np.zeros(0, np.int16), *sounds]), synthesizer.rate_hz


@asynccontextmanager
async def _started(config: Config) -> AsyncIterator[Synthesizer]:
    """Start the configured synthesizer, without its fallback and the phrase cache. Raises CommandFailed."""
    language = config.agent.language
    built = build_engine("synthesizer", config.synthesizer, config.source, language=language)
    synthesizer = cast("Synthesizer", built)
    try:
        await synthesizer.start()
        yield synthesizer
    except SynthesizerError as error:
        raise CommandFailed(f"cannot speak: {error}") from error
    finally:
        await synthesizer.close()


def _lines(known: KnownVoices, engine: str) -> list[str]:
    """Return the lines of the list: the engine's own names, then configured names with their voices."""
    lines = [*known.names]
    lines += [f"{name} = {voice}" for name, voice in known.aliases.items() if name]
    if usual := known.aliases.get(""):
        lines.append(f"usual voice: {usual}")
    if known.pattern:
        lines.append(f"any name that matches: {known.pattern}")
    return lines or [f"{engine} has one voice, without a name"]


def _allowed(known: KnownVoices) -> str:
    """Return the names that are allowed, for an error. The pattern stands for names that are not listed."""
    names = list(dict.fromkeys([*known.names, *filter(None, known.aliases)]))
    if known.pattern and not known.names:
        names.append(f"any name that matches {known.pattern}")
    return ", ".join(names) or '"", as it has one voice'
