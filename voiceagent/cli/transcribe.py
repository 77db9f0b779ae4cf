"""`voiceagent transcribe`: what the recognizer makes of recordings, without a call around it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

from rich.console import Console

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Recognizer, RecognizerError
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.transports.local_call import Recording, read_recordings
from voiceagent.validation.errors import CommandFailed

_AT_ONCE = 8
"""Recordings under way; the recognizer's own `workers` tell how many are decoded at once."""


def transcribe(config: Config, paths: Sequence[Path], *, as_json: bool) -> None:
    """Recognize each recording as one utterance and print its words.

    Raises CommandFailed where a recording cannot be read or the recognizer fails, ConfigError.
    """
    recognizer = build_engine("recognizer", config.recognizer, config.source)
    recordings = read_recordings(paths, SAMPLE_RATE_HZ)
    texts = asyncio.run(_transcribe(recognizer, recordings))
    if as_json:
        found = [{"recording": str(path), "text": text} for path, text in zip(paths, texts, strict=True)]
        print(json.dumps({"transcripts": found}, indent=2))
        return
    console = Console(soft_wrap=True)
    for path, text in zip(paths, texts, strict=True):
        console.print(f"{path.name}: {text or '(nothing)'}", markup=False, highlight=False)


async def _transcribe(recognizer: Recognizer, recordings: Sequence[Recording]) -> list[str]:
    """The words of each recording, in their order. Raises CommandFailed."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def words(recording: Recording) -> str:
        async with free:
            return await _words(recognizer, recording)

    try:
        await recognizer.start()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(words(recording)) for recording in recordings]
    except RecognizerError as error:
        raise CommandFailed(f"cannot start: {error}") from error
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await recognizer.close()
    return [task.result() for task in tasks]


async def _words(recognizer: Recognizer, recording: Recording) -> str:
    """The last hypothesis of one recording. Raises CommandFailed."""
    try:
        async with aclosing(recognizer.recognize(_whole(recording.sound))) as transcript:
            return [hypothesis.text async for hypothesis in transcript][-1]
    except RecognizerError as error:
        raise CommandFailed(f"{recording.name}: {error}") from error


async def _whole(sound: Samples) -> AsyncIterator[Samples | Flush]:
    yield sound
