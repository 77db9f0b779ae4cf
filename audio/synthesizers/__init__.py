"""Speech synthesis: what every synthesizer does, and the data that moves through it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from audio.pcm import Samples
from audio.synthesizers.pieces import Piece


@dataclass(frozen=True, slots=True)
class WordTiming:
    """Where a word of the text begins in the sound.

    character: index of the word's first character in the text passed to `speak`.
    at_samples: sample at which it begins, counted from the start of that text's sound.
    """

    character: int
    at_samples: int


@dataclass(frozen=True, slots=True)
class Speech:
    """The next piece of a text's sound, at the synthesizer's `rate_hz`.

    words: timings of words that are known by now, in order, each once; () where the engine has none.
    """

    samples: Samples
    words: tuple[WordTiming, ...] = ()


class SynthesizerError(Exception):
    """The synthesizer could not start or failed in mid-text; the text says which and why."""


class Synthesizer(Protocol):
    """Streaming speech synthesis."""

    rate_hz: int
    """Sample rate of all its sound; known once started."""

    async def start(self) -> None:
        """Load what is needed and be ready to speak. Raises SynthesizerError."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text, streaming its sound as it is made.

        Closing the generator stops the work and does not wait for the engine. Raises SynthesizerError.
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
"""Takes the next sound of a text; false once nobody wants it any more, and the work can stop."""


class BlockingText(Protocol):
    """One text that a blocking synthesizer speaks. Once a method has raised only `close` is called."""

    def push(self, piece: Piece, emit: Emit) -> Iterator[None] | None:
        """Speak the next piece, timed from the start of the text. Where it returns an iterator, its steps are
        the work, and other texts have their turn between them. Raises SynthesizerError.
        """

    def finish(self, emit: Emit) -> None:
        """All pieces came; emit what is left. Raises SynthesizerError."""

    def close(self) -> None:
        """Release everything; called once, last, whatever came before."""


class BlockingSynthesizer(Protocol):
    """A synthesizer that blocks its thread while it works: to be run where that hurts nobody.

    Building one loads the voice and raises SynthesizerError; its module does not import the engine's library.
    """

    turn_characters: ClassVar[int]
    """The most that is spoken of one text before another gets its turn."""
    takes_speed: ClassVar[bool] = False
    """Whether it speaks a piece at the piece's speed."""

    @property
    def rate_hz(self) -> int:
        """Sample rate of all its sound."""

    def open(self) -> BlockingText:
        """A new text; many may be open at once, each gets its turn."""
        ...
