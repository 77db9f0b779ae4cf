"""Callers' audio: recordings, and synthesized questions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import numpy as np

from audio.pcm import Samples
from audio.synthesizers import Synthesizer
from voiceagent.bench.material import Material
from voiceagent.bench.voiced import trimmed
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.transports.local_call import FORMAT, Recording, read_recordings, speak

PAUSE_S = (0.3, 1.0)
"""Range of the pauses inside a question."""
BACKCHANNELS = ("uh huh", "mm hmm", "yeah", "okay", "right")


def find_recordings(places: Sequence[Path]) -> list[Path]:
    """Return the files among `places`, and the WAV files in its folders, by name."""
    found: list[Path] = []
    for place in places:
        found += sorted(place.glob("*.wav")) if place.is_dir() else [place]
    return found


def with_pauses(parts: Iterable[Samples], pause_s: float, rate_hz: int) -> Samples:
    """Join the voiced parts [n] with silences of `pause_s`."""
    pause = np.zeros(round(pause_s * rate_hz), np.int16)
    spoken: list[Samples] = []
    for part in parts:
        spoken += [pause, trimmed(part, rate_hz)] if spoken else [trimmed(part, rate_hz)]
    return np.concatenate(spoken)


@asynccontextmanager
async def running_synthesizer(config: Config) -> AsyncIterator[Synthesizer]:
    """Start the synthesizer of a configuration, or its fallback if it has one.

    Callers do not have the agent's own voice. Raises ConfigError, SynthesizerError.
    """
    table = config.synthesizer_fallback or config.synthesizer
    synthesizer: Synthesizer = build_engine(
        "synthesizer", table, config.source, language=config.agent.language
    )
    await synthesizer.start()
    try:
        yield synthesizer
    finally:
        await synthesizer.close()


async def speak_questions(material: Material, synthesizer: Synthesizer) -> list[Recording]:
    """Return the questions without pauses, and the recorded ones.

    Raises SynthesizerError, ConfigError, CommandFailed.
    """
    spoken: list[Recording] = []
    for question in material.questions():
        if question.text is not None:
            spoken.append(Recording(question.text, await speak(synthesizer, question.text)))
        elif question.sound is not None:
            spoken += read_recordings([material.sound_path(question.sound)])
    return spoken


async def speak_paused_questions(
    material: Material, synthesizer: Synthesizer, random: Random
) -> list[Recording]:
    """Speak the questions that are written in parts, with one random pause length between the parts of each.

    Raises SynthesizerError, ConfigError, CommandFailed.
    """
    spoken = []
    for parts in [question.parts for question in material.questions() if question.parts is not None]:
        pause_s = random.uniform(*PAUSE_S)
        sound = with_pauses([await speak(synthesizer, part) for part in parts], pause_s, FORMAT.rate_hz)
        spoken.append(Recording(f" ({pause_s:.2f} s) ".join(parts), sound))
    return spoken
