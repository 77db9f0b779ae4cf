"""Speech synthesis (TTS): the interfaces of synthesizers and the data they produce."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

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


@runtime_checkable
class SupportsSpeed(Protocol):
    """A synthesizer that can speak one text faster or slower than another."""

    takes_speed: bool
    """False where what is behind it cannot; `speed` is not given then."""

    def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Speech, None]:
        """Speak one fragment. speed: 1.0 is the voice's own, 2.0 twice as fast. Raises SynthesizerError."""
        ...


def takes_speed(synthesizer: Synthesizer) -> bool:
    """Return whether a synthesizer speaks one text faster than another."""
    return isinstance(synthesizer, SupportsSpeed) and synthesizer.takes_speed


def speak_at(synthesizer: Synthesizer, text: str, speed: float) -> AsyncGenerator[Speech, None]:
    """Speak one fragment, at this speed if the synthesizer takes one. Raises SynthesizerError."""
    if speed != 1.0 and isinstance(synthesizer, SupportsSpeed) and synthesizer.takes_speed:
        return synthesizer.speak(text, speed)
    return synthesizer.speak(text)


Emit = Callable[[Speech], bool]
"""Callback for the next audio of a text. Returns False once the text is cancelled: the engine should stop."""


class BlockingText(Protocol):
    """Synthesis of one text by a BlockingSynthesizer. After a method has raised, only `close` is called."""

    def push(self, piece: Piece, emit: Emit) -> Iterator[None] | None:
        """Speak the next piece.

        Args:
            piece: follows the previous one without a gap.
            emit: receives the audio. Word timings count from the start of the whole text.

        Returns:
            None, or an iterator whose steps are the work; other texts take turns between them.

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
    takes_speed: ClassVar[bool] = False
    """True if it speaks a piece at the piece's speed."""

    @property
    def rate_hz(self) -> int:
        """Sample rate of the audio."""

    def open(self) -> BlockingText:
        """Begin a text. Many may be open at once; their pieces are interleaved."""
        ...
