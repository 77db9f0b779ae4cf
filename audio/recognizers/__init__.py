"""Speech recognition: what every recognizer does, and the data that moves through it.

A recognizer is matched by shape, not by inheritance. It listens to one utterance a call of
`recognize` and tells, as the utterance grows, what it takes the words to be.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Protocol

from audio.pcm import Samples

SAMPLE_RATE_HZ = 16_000
"""Every recognizer listens at this rate; transports resample on the way in."""


@dataclass(frozen=True, slots=True)
class Flush:
    """Asks for the best hypothesis of everything heard so far, now.

    Sent at the first pause and at the end of a turn. It is answered by exactly one `Hypothesis` with
    `settled` true; more sound may follow it. number: somebody was asked for a number, so that of what sounds
    alike numbers are likelier; a recognizer that can't make use of that hears as ever. silence_s: so long
    the sound before it is silent at its end: words that were heard up to well within that are those of all.
    """

    number: bool = False
    silence_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What the utterance is taken to say so far.

    text: the whole utterance from its start, not the newest words; "" where no word was found.
    stable: the leading part of `text` on which the newest hypotheses agree (may be ""); later ones rarely
    begin otherwise. The last hypothesis has the words of the whole sound, whatever came before.
    settled: true for the answer to a `Flush` and for the last hypothesis of the utterance.
    confidence: the mean probability that the model gives its tokens, 0 to 1; None where it has none.
    complete: how likely a turn that ends with this sound is complete, by its sound alone, 0 to 1; None where
    that is not told. No hypothesis is yielded for a change of these alone.
    """

    text: str
    stable: str = ""
    settled: bool = False
    confidence: float | None = field(default=None, compare=False)
    complete: float | None = field(default=None, compare=False)


class RecognizerError(Exception):
    """The recognizer could not start or failed in mid-utterance; the text says which and why."""


class Recognizer(Protocol):
    """Streaming speech recognition at 16 kHz mono."""

    async def start(self) -> None:
        """Load what is needed and be ready to recognize. Raises RecognizerError."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance.

        `sound` yields int16 mono at 16 kHz in chunks of any length, and `Flush` marks. Partial hypotheses
        are yielded only when the text or its stable part changes; where the caller is slow, older partials
        may be left out, settled ones never. When `sound` ends the last hypothesis is yielded, settled, and
        the generator ends.

        Closing the generator stops the work and does not wait for the engine. Raises RecognizerError.
        """
        ...


Emit = Callable[[Hypothesis], bool]
"""Takes the next hypothesis; false once nobody wants it any more, and the work can stop."""


class BlockingUtterance(Protocol):
    """One utterance of a recognizer that blocks. Once a method has raised only `close` is called.

    The hypotheses that it emits are those of `Recognizer.recognize`.
    """

    def push(self, item: Samples | Flush, emit: Emit) -> None:
        """Take more sound, or answer a flush. Raises RecognizerError."""

    def finish(self, emit: Emit) -> None:
        """The sound has ended: emit the last hypothesis, settled. Raises RecognizerError."""

    def close(self) -> None:
        """Release everything; called once, last, whatever came before."""


class BlockingRecognizer(Protocol):
    """A recognizer that blocks its thread while it works: to be run where that hurts nobody.

    Building one loads the model and raises RecognizerError; its module does not import the engine's library.
    """

    def open(self) -> BlockingUtterance:
        """A new utterance; many may be open at once, each gets its turn. Raises RecognizerError."""
        ...


async def in_pieces(
    sound: AsyncIterator[Samples | Flush], samples: int
) -> AsyncGenerator[Samples | Flush, None]:
    """`sound` with its chunks cut to at most so many samples."""
    async for item in sound:
        if isinstance(item, Flush):
            yield item
            continue
        for begin in range(0, len(item), samples):
            yield item[begin : begin + samples]
