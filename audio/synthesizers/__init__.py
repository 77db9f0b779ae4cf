"""Speech synthesis (TTS): the interfaces of synthesizers and the data they produce."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from audio.pcm import Samples
from audio.synthesizers.pieces import Piece


@dataclass(frozen=True, slots=True)
class WordTiming:
    """Start of a word in the audio of a text.

    Attributes:
        character: index of the word's first character in the text passed to `speak`.
        at_samples: offset of the word from the start of that text's audio, in samples.
    """

    character: int
    at_samples: int


@dataclass(frozen=True, slots=True)
class Speech:
    """The next chunk of a text's audio, at the synthesizer's `rate_hz`.

    Attributes:
        samples: PCM, [n] int16.
        words: timings that became known with this chunk, in order, each once; () if the engine has none.
    """

    samples: Samples
    words: tuple[WordTiming, ...] = ()


class SynthesizerError(Exception):
    """Start-up or synthesis failed. The message names the synthesizer and the cause."""


class Synthesizer(Protocol):
    """Streaming speech synthesis."""

    rate_hz: int
    """Sample rate of the audio; valid once started."""

    async def start(self) -> None:
        """Load the voice and get ready to speak.

        Raises:
            SynthesizerError: the voice cannot be loaded or the server cannot be reached.
        """

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text, streaming its audio as it is synthesized.

        Closing the generator cancels the synthesis without waiting for the engine.

        Args:
            text: one sentence or part of one.

        Yields:
            The chunks in order.

        Raises:
            SynthesizerError: the synthesis failed.
        """
        ...


Emit = Callable[[Speech], bool]
"""Callback for the next audio of a text. Returns False once the text is cancelled: the engine should stop."""


class BlockingText(Protocol):
    """Synthesis of one text by a BlockingSynthesizer. After a method has raised, only `close` is called."""

    def push(self, piece: Piece, emit: Emit) -> None:
        """Speak the next piece.

        Args:
            piece: follows the previous one without a gap.
            emit: receives the audio. Word timings count from the start of the whole text.

        Raises:
            SynthesizerError: the synthesis failed.
        """

    def finish(self, emit: Emit) -> None:
        """Emit the remaining audio. Called after the last piece.

        Raises:
            SynthesizerError: the synthesis failed.
        """

    def close(self) -> None:
        """Release everything. Called exactly once, last."""


class BlockingSynthesizer(Protocol):
    """A synthesizer that blocks its thread; the server runs it in a process of its own.

    The constructor loads the voice and raises SynthesizerError. Importing its module must not import the
    engine's library.
    """

    turn_characters: ClassVar[int]
    """Maximum length of a piece, in characters. Texts take turns between pieces."""

    @property
    def rate_hz(self) -> int:
        """Sample rate of the audio."""

    def open(self) -> BlockingText:
        """Begin a text. Many may be open at once; their pieces are interleaved."""
        ...
