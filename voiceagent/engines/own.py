"""The contract of an engine of one's own: a base class a kind, and all that goes in and comes out.

A class that is named as `engine = "package.module:Class"` need not derive from one of these: the methods
count. `recognize`, `generate`, or `speak` with `rate_hz`, must be there; the others have what these bases do.
The keyword arguments of its constructor are keys of its table. It runs on the server's event loop, where
nothing may block: a class that has to block has `open` in their place, and the server gives it processes
(`BlockingRecognizer`, `BlockingSynthesizer`). Everything is imported from here: the modules below have other
names in an installed wheel. What it yields is checked (`voiceagent.engines.checked`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from typing import ClassVar

from audio.pcm import Samples
from audio.recognizers import BlockingRecognizer, BlockingUtterance, Flush, Hypothesis, RecognizerError
from audio.synthesizers import BlockingSynthesizer, BlockingText, Speech, SynthesizerError, WordTiming
from audio.synthesizers.pieces import Piece
from llmcore.engine import (
    BusyError,
    Delta,
    FinishReason,
    LlmError,
    Message,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    ServerError,
    SetupError,
    Tool,
    ToolCall,
    Usage,
)

__all__ = [
    "BlockingRecognizer",
    "BlockingSynthesizer",
    "BlockingText",
    "BlockingUtterance",
    "BusyError",
    "Delta",
    "Engine",
    "FinishReason",
    "Flush",
    "Hypothesis",
    "LlmEngine",
    "LlmError",
    "Message",
    "Piece",
    "RecognizerEngine",
    "RecognizerError",
    "RefusedError",
    "ReplyError",
    "Request",
    "RequestError",
    "Samples",
    "ServerError",
    "SetupError",
    "Speech",
    "SynthesizerEngine",
    "SynthesizerError",
    "Tool",
    "ToolCall",
    "Usage",
    "WordTiming",
]


class Engine:
    """What all kinds have. One instance serves all calls of a process."""

    in_workers: ClassVar[bool] = False
    """True for a recognizer or synthesizer that loads nothing and only asks others: with `--workers` each
    worker then has an instance of its own, and no sound goes between processes. Otherwise all workers share
    one.
    """

    async def start(self) -> None:
        """Load what is needed. May raise the error of its kind; the server does not start then."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""


class RecognizerEngine(Engine):
    """Speech to text. Raises RecognizerError: the turn ends in the apology, and the call goes on."""

    languages: ClassVar[tuple[str, ...]] = ()
    """ISO 639 codes of what it understands; another `agent.language` is refused. () for any."""

    @abstractmethod
    def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """One utterance. sound: int16 [n] at 16 kHz, one channel, in pieces of any length, and `Flush` marks.

        Each `Flush` is answered by one settled `Hypothesis` of all that came, and so is the end of `sound`;
        others, whose text is the whole utterance so far, may come between.
        """


class LlmEngine(Engine):
    """A chat model. Raises ServerError if the server failed: it then gets no requests for a while, and the
    fallback or the apology answers. Raises RefusedError if a filter refused: the caller then hears
    `agent.refusal`. The engine removes markup around the words, such as thoughts and tool calls.
    """

    @abstractmethod
    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """A reply in pieces: text, calls of tools, and last, where they are known, the reason it ended and
        the usage. The generator is closed where nobody wants the rest.
        """

    async def prefill(self, request: Request) -> Usage | None:
        """Read a prompt ahead whose last message is not finished; None where there is no cache for that, and
        the call does not ask again. With `request.asks_end` the usage may tell how probable it is that the
        message ends there. Raises BusyError where there is no room for it now.
        """
        return None


class SynthesizerEngine(Engine):
    """Text to speech. Raises SynthesizerError: the caller hears the apology."""

    languages: ClassVar[tuple[str, ...]] = ()
    """ISO 639 codes of what it speaks; another `agent.language` is refused. () for any."""
    rate_hz: int
    """Sample rate of all its sound; there when it has started."""

    @abstractmethod
    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """A phrase as sound, in pieces as they are made: int16 [n], or floats from -1 to 1, one channel."""
