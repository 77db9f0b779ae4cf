"""Interface of custom engines: a base class for each kind, and all types that they exchange.

A class named as `engine = "package.module:Class"` need not derive from these: it must have `recognize`,
`generate`, or `speak` with `rate_hz`; the other methods default to those here. The keyword arguments of its
constructor are the keys of its table. It runs on the server's event loop and must not block. A class that
blocks has `open` instead, and the server runs it in processes (`BlockingRecognizer`, `BlockingSynthesizer`).
Import everything from here: the modules below have other names in an installed wheel. Yielded values are
checked (`voiceagent.engines.checked`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from typing import ClassVar

from audio.pcm import Samples
from audio.recognizers import BlockingRecognizer, BlockingUtterance, Flush, Hypothesis, RecognizerError
from audio.synthesizers import BlockingSynthesizer, BlockingText, Speech, SynthesizerError, WordTiming
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
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
    "USUAL_SETTINGS",
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
    "KnownVoices",
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
    "VoiceSettings",
    "WordTiming",
]


class Engine:
    """Base of all kinds. One instance serves all calls of a process."""

    in_workers: ClassVar[bool] = False
    """True for a recognizer or synthesizer that loads nothing and only calls a remote service: with
    `--workers` each worker then has its own instance, and no audio passes between processes. Otherwise all
    workers share one.
    """

    async def start(self) -> None:
        """Load resources.

        Raises:
            RecognizerError, LlmError, SynthesizerError: The engine cannot work, each for its kind. The server
                then does not start, except with a fallback for speech.
        """

    async def close(self) -> None:
        """Release all resources; a second call does nothing."""


class RecognizerEngine(Engine):
    """Speech to text. If it raises RecognizerError, the turn ends with the apology and the call continues."""

    languages: ClassVar[tuple[str, ...]] = ()
    """ISO 639 codes of the supported languages; another `agent.language` is refused. () for any."""

    @abstractmethod
    def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance.

        Args:
            sound: int16 [n] at 16 kHz, one channel, in pieces of any length, and `Flush` marks.

        Yields:
            One settled `Hypothesis` of all audio so far for each `Flush` and for the end of `sound`. Others,
            whose text is the whole utterance so far, may come in between.

        Raises:
            RecognizerError: recognition failed.
        """


class LlmEngine(Engine):
    """A chat model. The server removes markup around the words, such as thoughts and tool calls."""

    @abstractmethod
    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. The generator is closed when the rest is not needed.

        Args:
            request: the prompt and its settings.

        Yields:
            The reply in pieces: text, tool calls, and last, if known, the finish reason and the usage.

        Raises:
            ServerError: the server failed. The engine then gets no requests for a while, and the fallback or
                the apology answers.
            RefusedError: a filter refused. The caller hears `agent.refusal`.
        """

    async def prefill(self, request: Request) -> Usage | None:
        """Read a prompt with an unfinished last message into the cache.

        Args:
            request: the prompt. With `asks_end` the usage may contain the probability that the message ends
                here.

        Returns:
            The usage; None if there is no such cache, and the call does not ask again.

        Raises:
            BusyError: there is no room now.
        """
        return None


class SynthesizerEngine(Engine):
    """Text to speech. If it raises SynthesizerError, the caller hears the apology.

    An engine with several voices or speeds overrides `known_voices` or `takes_speed`; its `speak` then takes
    a second argument, `settings: VoiceSettings = USUAL_SETTINGS`.
    """

    languages: ClassVar[tuple[str, ...]] = ()
    """ISO 639 codes of the supported languages; another `agent.language` is refused. () for any."""
    rate_hz: int
    """Sample rate of its audio, known once started."""
    takes_speed: bool = False
    """True if `VoiceSettings.speed` may differ from text to text."""
    known_voices: KnownVoices = KnownVoices()
    """Voices from which `VoiceSettings.voice` is one, or "" for the usual one. Known once started."""

    @abstractmethod
    def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak a phrase.

        Args:
            text: words to speak.

        Yields:
            Audio as it is produced: int16 [n], or floats from -1 to 1, one channel.

        Raises:
            SynthesizerError: synthesis failed.
        """
