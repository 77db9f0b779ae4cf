"""Speech synthesis: what every synthesizer does, and the data that moves through it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

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

    @property
    def rate_hz(self) -> int:
        """Sample rate of all its sound."""

    def open(self) -> BlockingText:
        """A new text; many may be open at once, each gets its turn."""
        ...
