"""Callers' audio: recordings and synthesized questions, and the ends of their voice by its energy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.pcm import Samples
from audio.synthesizers import Synthesizer
from voiceagent.bench.material import Material
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.transports.local_call import FORMAT, Recording, read_recordings, speak
from voiceagent.validation.errors import CommandFailed

WINDOW_S = 0.01
BELOW_PEAK_DB = 26.0
"""A window this far below the loudest is not voice, but noise or reverberation."""
EARLY_S = 0.05
"""A turn decided less than this before its voice ends is not cut off: the label is no more accurate."""
ONSET_BELOW_PEAK_DB = 20.0
ONSET_WINDOWS = 3
"""A voice begins with this many consecutive windows near the peak: breaths, clicks and noise do not count."""
PAUSE_S = (0.3, 1.0)
"""Range of the pauses inside a question."""
BACKCHANNELS = ("uh huh", "mm hmm", "yeah", "okay", "right")


def voice_start_s(samples: Samples, rate_hz: int) -> float:
    """Return the start of the voice in `samples` [n] in seconds; 0.0 if there is none."""
    loud = _louder(samples, rate_hz, ONSET_BELOW_PEAK_DB)
    if len(loud) < ONSET_WINDOWS:
        return 0.0
    runs = sliding_window_view(loud, ONSET_WINDOWS).all(axis=1)
    return float(runs.argmax()) * WINDOW_S


def voice_end_s(samples: Samples, rate_hz: int, below_peak_db: float = BELOW_PEAK_DB) -> float:
    """Return the end of the last voiced window of `samples` [n] in seconds; 0.0 for silence."""
    voiced = np.flatnonzero(_louder(samples, rate_hz, below_peak_db))
    return 0.0 if len(voiced) == 0 else float(voiced[-1] + 1) * WINDOW_S


def trimmed(samples: Samples, rate_hz: int) -> Samples:
    """Return the samples [n] from the start of the voice to its end."""
    begin, end = voice_start_s(samples, rate_hz), voice_end_s(samples, rate_hz)
    return samples[round(begin * rate_hz) : round(end * rate_hz)]


def _louder(samples: Samples, rate_hz: int, below_peak_db: float) -> NDArray[np.bool_]:
    """Return which windows are less than `below_peak_db` below the loudest one."""
    length = round(WINDOW_S * rate_hz)
    windows = samples[: len(samples) // length * length].astype(np.float64).reshape(-1, length)
    if windows.size == 0:
        return np.zeros(0, np.bool_)
    energy = np.mean(windows**2, axis=1)
    louder: NDArray[np.bool_] = energy > energy.max() * 10 ** (-below_peak_db / 10)
    return louder


def find_recordings(places: Sequence[Path]) -> list[Path]:
    """Return the files among `places`, and the WAV files in its folders, by name.

    Raises:
        CommandFailed: A folder has none.
    """
    found: list[Path] = []
    for place in places:
        files = sorted(place.glob("*.wav")) if place.is_dir() else [place]
        if not files:
            raise CommandFailed(f"{place} has no recordings; allowed: a folder with *.wav, or a WAV file")
        found += files
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
