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
from audio.resample import resample
from audio.wav import read_wav
from voiceagent.config.tables import Config
from voiceagent.engines import build_engine
from voiceagent.failures import CommandFailed

_AT_ONCE = 8
"""Recordings under way; the recognizer's own `workers` tell how many are decoded at once."""


def transcribe(config: Config, paths: Sequence[Path], *, as_json: bool) -> None:
    """Recognize each recording as one utterance and print its words.

    Raises CommandFailed where a recording cannot be read or the recognizer fails, ConfigError.
    """
    texts = asyncio.run(_transcribe(build_engine("recognizer", config.recognizer, config.source), paths))
    if as_json:
        found = [{"recording": str(path), "text": text} for path, text in zip(paths, texts, strict=True)]
        print(json.dumps({"transcripts": found}, indent=2))
        return
    console = Console(soft_wrap=True)
    for path, text in zip(paths, texts, strict=True):
        console.print(f"{path.name}: {text or '(nothing)'}", markup=False, highlight=False)


async def _transcribe(recognizer: Recognizer, paths: Sequence[Path]) -> list[str]:
    """The words of each recording, in their order. Raises CommandFailed."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def words(path: Path) -> str:
        async with free:
            return await _words(recognizer, path)

    try:
        await recognizer.start()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(words(path)) for path in paths]
    except RecognizerError as error:
        raise CommandFailed(f"cannot start: {error}") from error
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await recognizer.close()
    return [task.result() for task in tasks]


async def _words(recognizer: Recognizer, path: Path) -> str:
    """The last hypothesis of one recording. Raises CommandFailed."""
    try:
        samples, rate_hz = read_wav(path)
        async with aclosing(recognizer.recognize(_whole(resample(samples, rate_hz, SAMPLE_RATE_HZ)))) as told:
            return [hypothesis.text async for hypothesis in told][-1]
    except (OSError, ValueError) as error:
        raise CommandFailed(str(error)) from error
    except RecognizerError as error:
        raise CommandFailed(f"{path}: {error}") from error


async def _whole(sound: Samples) -> AsyncIterator[Samples | Flush]:
    yield sound
