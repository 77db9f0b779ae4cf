"""`voiceagent transcribe`: transcribes recordings without a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

from rich.console import Console

from audio.detection.vad import SileroVad, VadError
from audio.detection.voiced_spans import utterances
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Recognizer, RecognizerError
from voiceagent.config.tables import Config
from voiceagent.server.engine_building import build_recognizer_alone
from voiceagent.transports.local_call import Recording, read_recordings
from voiceagent.validation.errors import CommandFailed

_MAX_RECORDINGS = 8
"""Recordings in progress; the recognizer's `workers` limit concurrent decodings."""
_PAUSE_S = 2.0
"""A longer silence separates utterances: earlier speech does not help to recognize what follows."""
_PADDING_S = 0.3
"""Audio to keep around a voice, as in calls."""


def transcribe(config: Config, paths: Sequence[Path], *, as_json: bool) -> None:
    """Print the transcript of each recording.

    Only spans with a voice are recognized: given silence, noise or music, models invent words. Raises
    CommandFailed if a recording cannot be read or the recognizer fails; ConfigError.
    """
    recognizer = build_recognizer_alone(config)
    recordings = read_recordings(paths, SAMPLE_RATE_HZ)
    texts = asyncio.run(transcripts(recognizer, recordings))
    if as_json:
        found = [{"recording": str(path), "text": text} for path, text in zip(paths, texts, strict=True)]
        print(json.dumps({"transcripts": found}, indent=2))
        return
    console = Console(soft_wrap=True)
    for path, text in zip(paths, texts, strict=True):
        console.print(f"{path.name}: {text or '(nothing)'}", markup=False, highlight=False)


async def transcripts(recognizer: Recognizer, recordings: Sequence[Recording]) -> list[str]:
    """Return the transcript of each recording at 16 kHz, in order. Starts and closes the recognizer.

    Raises CommandFailed.
    """
    free, vad = asyncio.Semaphore(_MAX_RECORDINGS), SileroVad()

    async def words(recording: Recording) -> str:
        async with free:
            return await _words(recognizer, recording, vad)

    try:
        vad.load()
        await recognizer.start()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(words(recording)) for recording in recordings]
    except (RecognizerError, VadError) as error:
        raise CommandFailed(f"cannot start: {error}") from error
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await recognizer.close()
    return [task.result() for task in tasks]


async def _words(recognizer: Recognizer, recording: Recording, vad: SileroVad) -> str:
    """Return the joined transcripts of a recording's utterances. Raises CommandFailed."""
    texts = []
    try:
        for utterance in utterances(recording.sound, vad, _PAUSE_S, _PADDING_S):
            async with aclosing(recognizer.recognize(_single_chunk(utterance))) as transcript:
                texts.append([hypothesis.text async for hypothesis in transcript][-1])
    except RecognizerError as error:
        raise CommandFailed(f"{recording.name}: {error}") from error
    return " ".join(filter(None, texts))


async def _single_chunk(sound: Samples) -> AsyncIterator[Samples | Flush]:
    yield sound
