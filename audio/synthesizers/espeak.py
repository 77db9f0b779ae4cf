"""espeak-ng, the bundled synthesizer. Only its worker process loads it (GPL-3)."""

from __future__ import annotations

from audio.host import Host, Served
from audio.synthesizers import SynthesizerError
from audio.synthesizers.hosted import HostedSynthesizer

_TURN_CHARACTERS = 200
"""The most spoken of one text before another gets its turn: about 12 s of sound."""


class EspeakSynthesizer(HostedSynthesizer):
    """espeak-ng through its shared library, with word timings.

    voice: a voice of espeak-ng, with or without a variant: "en-us+f5", "en-gb", "de+m3".
    words_per_minute: 80-450. pitch: 0-100.
    """

    def __init__(self, voice: str = "en-us+f5", words_per_minute: int = 165, pitch: int = 50) -> None:
        host = Host(
            Served(
                name="espeak",
                engine="audio.synthesizers.espeak_worker:EspeakEngine",
                arguments={"voice": voice, "words_per_minute": words_per_minute, "pitch": pitch},
                error=SynthesizerError,
            )
        )
        super().__init__(host, _TURN_CHARACTERS)
