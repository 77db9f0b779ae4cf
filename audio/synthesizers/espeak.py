"""espeak-ng, the bundled synthesizer. Only its worker process loads it (GPL-3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from audio.host import Host, Served
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.pieces import Piece, pieces

_TURN_CHARACTERS = 200
"""The most spoken of one text before another gets its turn: about 12 s of sound."""


class EspeakSynthesizer:
    """espeak-ng through its shared library, with word timings.

    voice: a voice of espeak-ng, with or without a variant: "en-us+f5", "en-gb", "de+m3".
    words_per_minute: 80-450. pitch: 0-100.
    """

    def __init__(self, voice: str = "en-us+f5", words_per_minute: int = 165, pitch: int = 50) -> None:
        self.rate_hz = 22_050
        self._host = Host(
            Served(
                name="espeak",
                engine="audio.synthesizers.espeak_worker:EspeakEngine",
                arguments={"voice": voice, "words_per_minute": words_per_minute, "pitch": pitch},
                error=SynthesizerError,
            )
        )

    @property
    def host(self) -> Host:
        """Its worker process."""
        return self._host

    async def start(self) -> None:
        """Start the worker. Raises SynthesizerError."""
        await self._host.start()
        self.rate_hz = self._host.facts["rate_hz"]

    async def close(self) -> None:
        """End the worker."""
        await self._host.close()

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment, in chunks of 60 ms. Raises SynthesizerError."""
        async with aclosing(self._host.stream(_each(text))) as sound:
            async for speech in sound:
                yield speech


async def _each(text: str) -> AsyncGenerator[Piece, None]:
    for piece in pieces(text, _TURN_CHARACTERS):
        yield piece
