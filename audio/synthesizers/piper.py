"""Piper: neural voices, in worker processes, which alone load it (GPL-3)."""

from __future__ import annotations

import os
from pathlib import Path

from audio.host import Host, Served
from audio.synthesizers import SynthesizerError
from audio.synthesizers.hosted import HostedSynthesizer

_TURN_CHARACTERS = 120
"""The most spoken of one text before another gets its turn: about 8 s of sound."""


class PiperSynthesizer(HostedSynthesizer):
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
        data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        host = Host(
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
        super().__init__(host, _TURN_CHARACTERS)
