"""Speech recognition (STT): the interfaces of recognizers and the data they produce.

A recognizer is matched by shape, not by inheritance. Each call of `recognize` transcribes one utterance and
yields its transcript as it grows.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from audio.pcm import Samples

SAMPLE_RATE_HZ = 16_000
"""Sample rate of every recognizer's input; transports resample."""


Spelling = Literal["", "letters", "name", "code", "email", "spelled email", "domain"]
"""Kind of answer that a caller was asked for: letters and digits, a name's letters, an e-mail address, one to
be spelled, or none.
"""


@dataclass(frozen=True, slots=True)
class Flush:
    """Request for the best hypothesis of all audio so far, now.

    Sent at the first pause and at the end of a turn. The answer is exactly one `Hypothesis` with `settled`
    true; more audio may follow.

    Attributes:
        number: the caller was asked for a number, so numbers are likelier than other words that sound alike.
            A recognizer may ignore this.
        spelling: what the caller was asked to spell, so letters and signs are likelier. A recognizer may
            ignore this.
        silence_s: length of the silence at the end of the audio. A transcript up to well within it is
            complete.
    """

    number: bool = False
    silence_s: float = 0.0
    spelling: Spelling = ""

    @property
    def is_special(self) -> bool:
        """True if partial hypotheses, which expect nothing, are no answer."""
        return self.number or bool(self.spelling)


LanguageProbabilities = tuple[tuple[str, float], ...]
"""Languages by ISO 639 code, each with its probability, 0 to 1."""


@dataclass(frozen=True, slots=True)
class ExpectedSpeech:
    """Knowledge of the next utterance, as far as a recognizer uses it.

    Attributes:
        language: ISO 639 code, where a recognizer has several; "" if the call has one.
        fixed: it is this language; otherwise it is the likeliest, as the caller spoke it before.
        phrases: words and names that are likely in this call, as they should be written.
        words: the same with less weight, as those of a text about the call.
    """

    language: str = ""
    fixed: bool = False
    phrases: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


NOTHING_EXPECTED = ExpectedSpeech()


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Transcript of the utterance so far.

    Attributes:
        text: the whole utterance from its start, not only new words; "" if no word was found.
        stable: leading part of `text` on which the newest hypotheses agree (may be ""); later ones rarely
            change it. The last hypothesis covers the whole audio, whatever came before.
        settled: true for the answer to a `Flush` and for the last hypothesis of the utterance.
        confidence: mean probability of the tokens, 0 to 1; None if the model has none.
        complete: probability, from the audio alone, that a turn that ends here is complete, 0 to 1; None if
            not judged. No hypothesis is yielded for a change of `confidence` or `complete` alone.
        languages: probabilities of the languages in question, from the audio; () if not detected.
    """

    text: str
    stable: str = ""
    settled: bool = False
    confidence: float | None = field(default=None, compare=False)
    complete: float | None = field(default=None, compare=False)
    languages: LanguageProbabilities = field(default=(), compare=False)


class RecognizerError(Exception):
    """Start-up or recognition failed. The message names the recognizer and the cause."""


class Recognizer(Protocol):
    """Streaming speech recognition at 16 kHz mono."""

    async def start(self) -> None:
        """Load the model and get ready to recognize.

        Raises:
            RecognizerError: the model cannot be loaded or the server cannot be reached.
        """

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance.

        Closing the generator cancels the work without waiting for the engine.

        Args:
            sound: int16 mono audio at 16 kHz in chunks of any length, and `Flush` marks.

        Yields:
            A partial hypothesis when the text or its stable part changes; if the consumer is slow, older
                partials may be skipped, settled ones never. When `sound` ends, the last hypothesis, settled.

        Raises:
            RecognizerError: the recognition failed.
        """
        ...


class ExpectingRecognizer(Protocol):
    """A recognizer that uses knowledge of each utterance: its language among several, likely phrases.

    Attributes:
        takes_expected: False, or missing, if it uses none.
    """

    takes_expected: bool

    def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech = ...
    ) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance; see `Recognizer`.

        Args:
            sound: audio and flushes.
            expected: knowledge of it.

        Yields:
            The hypotheses; with several languages, settled ones with `languages`.

        Raises:
            RecognizerError: the recognition failed.
        """
        ...


def recognize_expecting(
    recognizer: Recognizer, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech
) -> AsyncGenerator[Hypothesis, None]:
    """Recognize one utterance with what is expected of it, as far as the recognizer uses that.

    Raises:
        RecognizerError: the recognition failed.
    """
    if expected == NOTHING_EXPECTED or not getattr(recognizer, "takes_expected", False):
        return recognizer.recognize(sound)
    return cast("ExpectingRecognizer", recognizer).recognize(sound, expected)


Emit = Callable[[Hypothesis], bool]
"""Callback for the next hypothesis. Returns False once the utterance is cancelled: the engine should stop."""


class BlockingUtterance(Protocol):
    """One utterance of a BlockingRecognizer. After a method has raised, only `close` is called.

    The hypotheses it emits follow the rules of `Recognizer.recognize`.
    """

    def push(self, item: Samples | Flush, emit: Emit) -> None:
        """Process more audio, or answer a flush.

        Args:
            item: int16 mono at 16 kHz, or a flush.
            emit: receives the hypotheses.

        Raises:
            RecognizerError: the recognition failed.
        """

    def finish(self, emit: Emit) -> None:
        """Emit the last hypothesis, settled. Called after the last audio.

        Raises:
            RecognizerError: the recognition failed.
        """

    def close(self) -> None:
        """Release everything. Called exactly once, last."""


class BlockingRecognizer(Protocol):
    """A recognizer that blocks its thread; the server runs it in a process of its own.

    The constructor loads the model and raises RecognizerError. Importing its module must not import the
    engine's library.
    """

    def open(self) -> BlockingUtterance:
        """Begin an utterance. Many may be open at once; their audio is interleaved.

        Raises:
            RecognizerError: the engine cannot begin one.
        """
        ...


async def in_pieces(
    sound: AsyncIterator[Samples | Flush], samples: int
) -> AsyncGenerator[Samples | Flush, None]:
    """Yield `sound` with its chunks cut to at most `samples` samples.

    Args:
        sound: audio and flushes.
        samples: maximum length of a chunk.

    Yields:
        The pieces and flushes, in order.
    """
    async for item in sound:
        if isinstance(item, Flush):
            yield item
            continue
        for begin in range(0, len(item), samples):
            yield item[begin : begin + samples]
