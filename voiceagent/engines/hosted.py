"""Blocking engines in processes of their own, as recognizers and synthesizers of a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, overload

from audio.pcm import Samples
from audio.recognizers import (
    SAMPLE_RATE_HZ,
    BlockingRecognizer,
    Flush,
    Hypothesis,
    RecognizerError,
    in_pieces,
)
from audio.synthesizers import BlockingSynthesizer, Speech, SynthesizerError
from audio.synthesizers.pieces import Piece, pieces
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.messages import Windows
from voiceagent.processes.policies.liveness import Supervision

_SUPERVISION = Supervision()
_BUFFER_S = 4
"""Seconds of audio that may wait for a recognizer before the caller's iterator is paused."""
_TURN_SAMPLES = SAMPLE_RATE_HZ // 10
"""Largest amount of audio decoded for one utterance before the next utterance's turn."""
_RECOGNIZER_WINDOWS = Windows(there=_BUFFER_S * SAMPLE_RATE_HZ * 2, here=1 << 13)


def is_blocking(engine: type) -> bool:
    """Return True if a class has the shape of a blocking engine: `open`, but no `start`."""
    return hasattr(engine, "open") and not hasattr(engine, "start")


@overload
def hosted(engine: type[BlockingRecognizer], /, workers: int = 1, **arguments: Any) -> HostedRecognizer: ...
@overload
def hosted(
    engine: type[BlockingSynthesizer],
    /,
    workers: int = 1,
    voices: Mapping[str, str] | None = None,
    **arguments: Any,
) -> HostedSynthesizer: ...


def hosted(
    engine: Any, /, workers: int = 1, voices: Mapping[str, str] | None = None, **arguments: Any
) -> HostedRecognizer | HostedSynthesizer:
    """Run a blocking engine, built from its keyword arguments, in each of `workers` processes.

    Raises ValueError for an invalid number of workers. voices: see HostedSynthesizer.
    """
    if hasattr(engine, "turn_characters"):
        return HostedSynthesizer(engine, arguments, workers, voices=voices)
    return HostedRecognizer(engine, arguments, workers)


class _Hosted:
    """A blocking engine in processes of its own, `host`."""

    def __init__(self, host: EngineHost) -> None:
        self.host = host

    async def start(self) -> None:
        """Start the processes and load the model. Raises the error of the engine's kind."""
        await self.host.start()

    async def close(self) -> None:
        """End the processes."""
        await self.host.close()


class HostedRecognizer(_Hosted):
    """A blocking recognizer in processes of its own."""

    def __init__(
        self,
        engine: type[BlockingRecognizer],
        arguments: Mapping[str, Any],
        workers: int = 1,
        supervision: Supervision = _SUPERVISION,
    ) -> None:
        hosted_engine = HostedEngine(
            name=_name(engine),
            engine=_path(engine),
            arguments=arguments,
            error=RecognizerError,
            windows=_RECOGNIZER_WINDOWS,
            replaceable=_is_partial,
        )
        super().__init__(EngineHost(hosted_engine, workers, supervision))

    def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        return self.host.stream(in_pieces(sound, _TURN_SAMPLES))


class HostedSynthesizer(_Hosted):
    """A blocking synthesizer in processes of its own. rate_hz, known_voices: known once started."""

    def __init__(
        self,
        engine: type[BlockingSynthesizer],
        arguments: Mapping[str, Any],
        workers: int = 1,
        supervision: Supervision = _SUPERVISION,
        voices: Mapping[str, str] | None = None,
    ) -> None:
        """Describe the engine. voices: its voices for other names, which clients and agents ask for."""
        if not hasattr(engine, "turn_characters"):
            raise TypeError(f"{engine.__name__} has no turn_characters: see BlockingSynthesizer")
        self.rate_hz = 0
        self.takes_speed = getattr(engine, "takes_speed", False)
        self.known_voices = KnownVoices()
        self._aliases = voices or {}
        self._turn_characters = engine.turn_characters
        hosted_engine = HostedEngine(
            name=_name(engine),
            engine=_path(engine),
            arguments=arguments,
            error=SynthesizerError,
            facts=("rate_hz", "known_voices") if hasattr(engine, "known_voices") else ("rate_hz",),
        )
        super().__init__(EngineHost(hosted_engine, workers, supervision))

    async def start(self) -> None:
        """Start the processes and load the voice. Raises SynthesizerError, also for unknown `voices`."""
        await super().start()
        self.rate_hz = self.host.facts["rate_hz"]
        known: KnownVoices = self.host.facts.get("known_voices", KnownVoices())
        try:
            self.known_voices = known.with_aliases(self._aliases)
        except ValueError as error:
            await self.close()
            raise SynthesizerError(str(error)) from error

    def speak(self, text: str, settings: VoiceSettings = USUAL_SETTINGS) -> AsyncGenerator[Speech, None]:
        """Speak one fragment, chunk by chunk. Raises SynthesizerError."""
        return self.host.stream(self._turns(text, settings))

    async def _turns(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Piece, None]:
        for piece in pieces(text, self._turn_characters, settings):
            yield piece


def _name(engine: type) -> str:
    """Return an engine's name for errors: "espeak" for EspeakSynthesizer."""
    return engine.__name__.removesuffix("Recognizer").removesuffix("Synthesizer").lower()


def _path(engine: type) -> str:
    return f"{engine.__module__}:{engine.__qualname__}"


def _is_partial(hypothesis: Hypothesis) -> bool:
    return not hypothesis.settled
