"""Speech synthesis (TTS): the interfaces of synthesizers and the data they produce."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

from audio.pcm import Samples
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings

_ONE_VOICE = KnownVoices()
_CHUNK_S = 0.2


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


class AdjustableSynthesizer(Protocol):
    """A synthesizer that can speak one text in another voice, or at another speed, than the next.

    Attributes:
        takes_speed: False, or missing, if it has one speed; `VoiceSettings.speed` is then always 1.0.
        known_voices: Its voices, known once started. Empty, or missing, if it has one; `VoiceSettings.voice`
            is then always "".
    """

    takes_speed: bool
    known_voices: KnownVoices

    def speak(self, text: str, settings: VoiceSettings = ...) -> AsyncGenerator[Speech, None]:
        """Speak one fragment.

        Args:
            text: one sentence or part of one.
            settings: a voice that `known_voices` has found, and a speed.

        Yields:
            The chunks in order.

        Raises:
            SynthesizerError: the synthesis failed.
        """
        ...


def takes_speed(synthesizer: Synthesizer) -> bool:
    """Return True if a synthesizer can speak one text faster than another."""
    return bool(getattr(synthesizer, "takes_speed", False))


def known_voices(synthesizer: Synthesizer) -> KnownVoices:
    """Return the voices of a synthesizer that a text may choose (`VoiceSettings.voice`)."""
    return cast("KnownVoices", getattr(synthesizer, "known_voices", _ONE_VOICE))


def further_languages(synthesizer: Synthesizer) -> tuple[str, ...]:
    """Return the languages, by ISO 639 code, for which a synthesizer has an engine of their own."""
    return cast("tuple[str, ...]", getattr(synthesizer, "further_languages", ()))


def voice_in(synthesizer: Synthesizer, language: str, voice: str) -> str:
    """Return the voice for a language other than the usual one.

    Args:
        synthesizer: started, so that its voices are known.
        language: ISO 639 code. A voice under this name, such as "de", is preferred.
        voice: the voice without one.
    """
    known = known_voices(synthesizer)
    return language if language in known.names or language in known.aliases else voice


def applicable(synthesizer: Synthesizer, settings: VoiceSettings) -> VoiceSettings:
    """Return the part of the settings that a synthesizer can apply, with its own name of the voice."""
    speed = settings.speed if takes_speed(synthesizer) else 1.0
    language = settings.language if settings.language in further_languages(synthesizer) else ""
    return VoiceSettings(known_voices(synthesizer).find(settings.voice), speed, language)


def speak_with(synthesizer: Synthesizer, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
    """Speak one fragment with the settings that the synthesizer can apply.

    Raises:
        SynthesizerError: the synthesis failed.
    """
    applied = applicable(synthesizer, settings)
    if applied == USUAL_SETTINGS:
        return synthesizer.speak(text)
    return cast("AdjustableSynthesizer", synthesizer).speak(text, applied)


def in_chunks(sound: Samples, words: Sequence[WordTiming], begin: int, rate_hz: int) -> Iterator[Speech]:
    """Yield the audio in chunks of _CHUNK_S.

    Args:
        sound: of a phrase.
        words: of the phrase, in order.
        begin: samples of the text before the phrase.
        rate_hz: of `sound`.
    """
    length = round(_CHUNK_S * rate_hz)
    left = list(words)
    for at in range(0, len(sound), length):
        samples = sound[at : at + length]
        last = at + length >= len(sound)
        begun = [word for word in left if last or word.at_samples < begin + at + len(samples)]
        left = left[len(begun) :]
        yield Speech(samples, tuple(begun))


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
    known_voices: KnownVoices = _ONE_VOICE
    """Voices in which it speaks a piece. Its constructor may set them."""

    @property
    def rate_hz(self) -> int:
        """Sample rate of the audio."""

    def open(self) -> BlockingText:
        """Begin a text. Many may be open at once; their pieces are interleaved."""
        ...
