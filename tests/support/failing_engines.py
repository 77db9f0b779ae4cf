"""Engines that a server cannot work with."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, ClassVar

from audio.recognizers import Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError


class _Unasked:
    """A recognizer that never comes to recognize anything."""

    async def recognize(self, sound: AsyncIterator[Any]) -> AsyncGenerator[Hypothesis, None]:
        """Nothing is asked of it."""
        yield Hypothesis("", settled=True)


class DeafRecognizer(_Unasked):
    """Does not start."""

    def __init__(self, **options: Any) -> None:
        pass

    async def start(self) -> None:
        """Fail."""
        raise RecognizerError("no model in /nowhere")

    async def close(self) -> None:
        """There is nothing to close."""


class StoppedRecognizer(_Unasked):
    """Stops the server while this engine starts. closed: how often any was."""

    closed: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        pass

    async def start(self) -> None:
        """Send this process a signal to stop."""
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Count it."""
        StoppedRecognizer.closed += 1


class MuteSynthesizer:
    """Starts, and cannot speak."""

    rate_hz = 8_000

    def __init__(self, **options: Any) -> None:
        pass

    async def start(self) -> None:
        """Be ready."""

    async def close(self) -> None:
        """There is nothing to close."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Fail."""
        raise SynthesizerError(f"no voice for {text}")
        yield
