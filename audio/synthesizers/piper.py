"""Piper: neural voices, in worker processes, which alone load it (GPL-3)."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from audio.host import Host, Served
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.pieces import Piece, pieces

_TURN_CHARACTERS = 120
"""The most spoken of one text before another gets its turn: about 8 s of sound."""


class PiperSynthesizer:
    """A Piper voice, with word timings where the voice tells how long its phonemes are.

    voice: a name such as "en_US-lessac-medium", or the path of an .onnx file with its .onnx.json beside it.
    data_dir: where named voices lie and are downloaded to; default `~/.local/share/piper-voices`.
    speaker: number of one of the voice's speakers. length_scale: over 1 is slower.
    local_files_only: never download; so it is too where HF_HUB_OFFLINE is set, the hub being their source.
    workers: processes that speak.
    """

    def __init__(
        self,
        voice: str,
        data_dir: Path | None = None,
        speaker: int | None = None,
        length_scale: float | None = None,
        local_files_only: bool = False,
        workers: int = 1,
    ) -> None:
        self.rate_hz = 0
        data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        self._host = Host(
            Served(
                name="piper",
                engine="audio.synthesizers.piper_worker:PiperEngine",
                arguments={
                    "voice": voice,
                    "data_dir": data_dir or Path(data_home) / "piper-voices",
                    "speaker": speaker,
                    "length_scale": length_scale,
                    "local_files_only": local_files_only,
                },
                error=SynthesizerError,
            ),
            workers,
        )

    @property
    def host(self) -> Host:
        """Its worker processes."""
        return self._host

    async def start(self) -> None:
        """Start the workers and load the voice, downloading it first if need be. Raises SynthesizerError."""
        await self._host.start()
        self.rate_hz = self._host.facts["rate_hz"]

    async def close(self) -> None:
        """End the workers."""
        await self._host.close()

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment, a sentence a chunk. Raises SynthesizerError."""
        async with aclosing(self._host.stream(_each(text))) as sound:
            async for speech in sound:
                yield speech


async def _each(text: str) -> AsyncGenerator[Piece, None]:
    for piece in pieces(text, _TURN_CHARACTERS):
        yield piece
