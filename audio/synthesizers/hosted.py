"""A synthesizer whose engine runs in worker processes: the shell that all such have."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from audio.host import Host
from audio.synthesizers import Speech
from audio.synthesizers.pieces import Piece, pieces


class HostedSynthesizer:
    """Speaks through `host`. turn_characters: the most spoken of one text before another gets its turn.

    rate_hz: of the sound, known once it has started.
    """

    def __init__(self, host: Host, turn_characters: int) -> None:
        self.rate_hz = 0
        self._host = host
        self._turn_characters = turn_characters

    @property
    def host(self) -> Host:
        """Its worker processes."""
        return self._host

    async def start(self) -> None:
        """Start the workers and load the voice. Raises SynthesizerError."""
        await self._host.start()
        self.rate_hz = self._host.facts["rate_hz"]

    async def close(self) -> None:
        """End the workers."""
        await self._host.close()

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment, chunk by chunk. Raises SynthesizerError."""
        async with aclosing(self._host.stream(self._turns(text))) as sound:
            async for speech in sound:
                yield speech

    async def _turns(self, text: str) -> AsyncGenerator[Piece, None]:
        for piece in pieces(text, self._turn_characters):
            yield piece
