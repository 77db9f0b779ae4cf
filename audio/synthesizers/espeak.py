"""espeak-ng, the bundled synthesizer: blocking, one text at a time.

The library (GPL-3) is loaded only by the constructor, so that a server can keep it in a separate process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from audio.pcm import Samples
from audio.synthesizers import Emit, Speech, SynthesizerError, WordTiming
from audio.synthesizers.espeak_voices import NoSuchVoice, installed_voices, voice_file
from audio.synthesizers.pieces import Piece, QuietEnd
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings

_CHUNK_MS = 60
_PAUSE_S = 0.12

# From speak_lib.h of espeak-ng 1.52.
_SYNCHRONOUS, _POSITION_IS_CHARACTER, _CHARACTERS_UTF8, _END_PAUSE = 2, 1, 1, 0x1000
_RATE, _PITCH = 1, 3
_LIST_END, _WORD = 0, 1

_PAUSED_AFTER = tuple('.,;:!?…)"”')


class _Event(ctypes.Structure):
    """`espeak_EVENT` of speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


SynthesisCallback = Callable[[Any, int, Any], int]
"""Synthesis callback: receives int16 samples, their count and an array of `_Event`; returns 1 to stop."""


_SLOWEST, _FASTEST = 80, 450
_VOICE, _WORDS_PER_MINUTE, _MIDDLE_PITCH = "en-us+f5", 165, 50


class EspeakSynthesizer:
    """espeak-ng's shared library, with word timings. At most one instance a process.

    Args:
        voice: a voice of espeak-ng, with or without a variant: "en-us+f5", "en-gb", "de+m3".
        words_per_minute: 80-450.
        pitch: 0-100.

    Raises:
        SynthesizerError: the voice is unknown or a number is out of range.
    """

    turn_characters: ClassVar[int] = 200
    """About 12 s of audio."""
    takes_speed: ClassVar[bool] = True
    known_voices: KnownVoices = KnownVoices()

    def __init__(
        self, voice: str = _VOICE, words_per_minute: int = _WORDS_PER_MINUTE, pitch: int = _MIDDLE_PITCH
    ) -> None:
        import espeakng_loader  # type: ignore[import-untyped]  # noqa: PLC0415  GPL-3; it ships no types

        for _, message in misfits(voice, words_per_minute, pitch):
            raise SynthesizerError(message)
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path()
        self.rate_hz = self._library.espeak_Initialize(_SYNCHRONOUS, _CHUNK_MS, data.encode(), 0)
        if self.rate_hz <= 0:
            raise SynthesizerError(
                f"espeak-ng does not start with the data in {data!r} (error {self.rate_hz})"
            )
        self._library.espeak_ng_SetRandSeed(ctypes.c_long(1))  # else breath noise differs at every start
        self.known_voices = installed_voices(Path(data))
        self._data = Path(data)
        self._voice = voice
        self._loaded = ""
        self._words_per_minute = words_per_minute
        self._pitch = pitch
        self._load(voice)
        self._callback = _Callback()  # a reference keeps it alive while the library may call it

    def open(self) -> SpokenText:
        """Begin a text."""
        return SpokenText(self)

    def synthesize(
        self, text: str, callback: SynthesisCallback, settings: VoiceSettings = USUAL_SETTINGS
    ) -> None:
        """Speak `text`, calling `callback(wave, count, events)` for every chunk until it returns 1.

        A pause follows only if the text ends a sentence: a fragment cut within one runs on.

        Args:
            text: the text; NUL characters become blanks.
            callback: receives the chunks.
            settings: the voice, and a speed of which 1.0 is `words_per_minute`.

        Raises:
            SynthesizerError: espeak-ng returned an error.
        """
        self._load(settings.voice or self._voice)
        rate = round(self._words_per_minute * settings.speed)
        self._library.espeak_SetParameter(_RATE, min(max(rate, _SLOWEST), _FASTEST), 0)
        self._callback = _Callback(callback)
        self._library.espeak_SetSynthCallback(self._callback)
        encoded = text.replace("\0", " ").encode()
        flags = _CHARACTERS_UTF8 | (_END_PAUSE if text.rstrip().endswith(_PAUSED_AFTER) else 0)
        status = self._library.espeak_Synth(
            encoded, ctypes.c_size_t(len(encoded) + 1), 0, _POSITION_IS_CHARACTER, 0, flags, None, None
        )
        if status != 0:
            raise SynthesizerError(f"espeak-ng could not speak {text!r} (error {status})")

    def _load(self, voice: str) -> None:
        """Switch the library, which has one voice at a time, to this one. Raises SynthesizerError."""
        if voice == self._loaded:
            return
        self._loaded = ""
        try:
            file = voice_file(voice, self._data)
        except NoSuchVoice as error:
            raise SynthesizerError(str(error)) from error
        if self._library.espeak_SetVoiceByName(file.encode()) != 0:
            raise SynthesizerError(f"espeak-ng does not load its voice {voice!r}")
        self._library.espeak_SetParameter(_PITCH, self._pitch, 0)
        self._loaded = voice


class SpokenText:
    """Synthesis of one text, piece by piece."""

    def __init__(self, engine: EspeakSynthesizer) -> None:
        self._engine = engine
        self._spoken = 0
        self._last_reported = -1
        self._words: list[WordTiming] = []

    def push(self, piece: Piece, emit: Emit) -> None:
        """Speak the next piece.

        Args:
            piece: follows the previous one.
            emit: receives the audio.

        Raises:
            SynthesizerError: espeak-ng returned an error.
        """
        quiet_end = QuietEnd(round(_PAUSE_S * self._engine.rate_hz))
        begin = self._spoken

        def callback(wave: Any, count: int, events: Any) -> int:
            self._record_words(piece, begin, events)
            if not wave or count == 0:
                return 0
            samples: Samples = np.ctypeslib.as_array(wave, (count,)).copy()
            return 0 if self._send(quiet_end.push(samples), emit) else 1

        self._engine.synthesize(piece.text, callback, piece.settings)
        self._send(quiet_end.finish(), emit)

    def finish(self, emit: Emit) -> None:
        """Do nothing: `push` emitted all audio."""

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _send(self, samples: Samples, emit: Emit) -> bool:
        if not len(samples):
            return True
        self._spoken += len(samples)
        words, self._words = tuple(self._words), []
        return emit(Speech(samples, words))

    def _record_words(self, piece: Piece, begin: int, events: Any) -> None:
        """Record the word events of a piece.

        The library reports some words twice and some punctuation as words; only the first report of a word
        counts.
        """
        index = 0
        while (event := events[index]).type != _LIST_END:
            character = piece.character + event.text_position - 1
            spoken = piece.text[event.text_position - 1 : event.text_position].strip()
            if event.type == _WORD and spoken and character > self._last_reported:
                self._last_reported = character
                self._words.append(WordTiming(character, begin + event.sample))
            index += 1


def misfits(
    voice: str = _VOICE, words_per_minute: int = _WORDS_PER_MINUTE, pitch: int = _MIDDLE_PITCH
) -> Iterator[tuple[str, str]]:
    """Yield each invalid argument with what is allowed, without loading the library."""
    import espeakng_loader  # noqa: PLC0415  it only locates the data

    try:
        voice_file(voice, Path(espeakng_loader.get_data_path()))
    except NoSuchVoice as error:
        yield "voice", str(error)
    ranges = (("words_per_minute", words_per_minute, _SLOWEST, _FASTEST), ("pitch", pitch, 0, 100))
    for name, value, minimum, maximum in ranges:
        if not minimum <= value <= maximum:
            yield name, f"{name} is {value}; allowed: {minimum} to {maximum}"
