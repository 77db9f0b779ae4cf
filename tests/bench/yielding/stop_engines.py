"""Engines of a call in which every voice says "stop", and the agent speaks prepared audio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request


class StopRecognizer:
    """Understands "stop" in all voices."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("stop", settled=True)


class SilentLlm:
    """Has nothing to say."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta(finish_reason="stop")

    async def prefill(self, request: Request) -> None: ...


class PreparedVoice:
    """Returns audio that was made before: by the clock of a call it takes no time. made: by text."""

    def __init__(self, rate_hz: int, made: dict[str, list[Speech]]) -> None:
        self.rate_hz = rate_hz
        self._made = made

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        for speech in self._made[text]:
            yield speech
