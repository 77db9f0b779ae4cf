"""English Piper voices without Piper and espeak-ng, which are GPL-3: blocking, in windows of sound.

A voice is cut into three parts (`audio/onnx/vits_graph.py`), so that its first sound needs only the text's
encoding and a small window, whatever the length of the phrase.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from audio.onnx.vits_graph import Encoded, NotVits, VitsGraph
from audio.pcm import Samples
from audio.synthesizers import Emit, Speech, SynthesizerError, WordTiming
from audio.synthesizers.english_phonemes import EnglishPhonemes, SpokenWord
from audio.synthesizers.phrases import phrases
from audio.synthesizers.pieces import Piece, QuietEnd
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings, speakers_of

_PAUSE_S = 0.12
_LEAD_S = 0.01
"""Of the quiet before a text's first sound; voices begin with about 45 ms."""
_GAIN = 1.3
"""Voices peak at 0.4 to 0.75; loudness must not depend on the phrase, which is not known whole."""
_QUIET = 0.01
_ENGLISH = ("en", "en-us", "en-gb")
_PAD, _BEGIN, _END = "_", "^", "$"


class PiperEnglishSynthesizer:
    """An English Piper voice, with word timings.

    voice: its .onnx file, with its .onnx.json beside it. speaker: number of one of the voice's speakers.
    speed: 1.0 is the voice's own, 2.0 twice as fast. threads: of the processor. Raises SynthesizerError where
    it cannot be loaded.
    """

    turn_characters: ClassVar[int] = 600
    """Other texts get their turn within a piece too, after each window of sound."""
    takes_speed: ClassVar[bool] = True
    known_voices: KnownVoices = KnownVoices()

    def __init__(self, voice: Path, speaker: int = 0, speed: float = 1.0, threads: int = 1) -> None:
        self.settings = _settings(voice)
        if not 0 <= speaker < self.settings.speakers:
            allowed = f"0 to {self.settings.speakers - 1}"
            raise SynthesizerError(f"speaker is {speaker}; allowed for this voice: {allowed}")
        try:
            self.graph = VitsGraph(voice, threads, self.settings.noise, self.settings.noise_of_durations)
        except Exception as error:  # onnxruntime and onnx have no common exception
            reason = str(error) if isinstance(error, NotVits) else repr(error)
            raise SynthesizerError(f"voice {str(voice)!r} cannot be loaded: {reason}") from error
        self.phonemes = EnglishPhonemes()
        self.known_voices = KnownVoices(
            tuple(self.settings.speaker_ids) if self.settings.speakers > 1 else ()
        )
        self.speaker = speaker
        self.length_scale = self.settings.length_scale / speed
        if (first := self.encoded("Hello, hello.")) is not None:
            for _ in self.graph.sound(first[0]):
                pass  # the first run is several times slower than the others

    @property
    def rate_hz(self) -> int:
        """Sample rate of all its sound."""
        return self.settings.rate_hz

    def open(self) -> SpokenText:
        """Begin a text."""
        return SpokenText(self)

    def encoded(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> tuple[Encoded, list[tuple[int, int]]] | None:
        """Return a phrase's encoding, and its words as pairs (index in the text, first frame).

        None where nothing of it can be spoken.
        """
        words = self.phonemes(text)
        if not any(word.phonemes and word.character >= 0 for word in words):
            return None
        ids, starts = self.settings.ids(words)
        speaker = self.settings.speaker_ids.get(settings.voice, self.speaker)
        encoded = self.graph.encode(ids, self.length_scale / settings.speed, speaker)
        ends = np.cumsum(encoded.frames)
        timed = [
            (word.character, int(ends[start - 1]))
            for word, start in zip(words, starts, strict=True)
            if word.phonemes and word.character >= 0
        ]
        return encoded, timed


class SpokenText:
    """One text: its pieces spoken one after the other, phrase by phrase, window by window."""

    def __init__(self, engine: PiperEnglishSynthesizer) -> None:
        self._engine = engine
        self._rate_hz = engine.rate_hz
        self._spoken = 0
        self._silent = True

    def push(self, piece: Piece, emit: Emit) -> Iterator[None]:
        """Speak the next piece; other texts get their turn after each window."""
        for phrase in phrases(piece.text, first=self._silent):
            if not any(map(str.isalnum, phrase.text)):
                continue
            for speech in self._phrase(phrase, piece.character, piece.settings):
                if not emit(speech):
                    return
                yield

    def finish(self, emit: Emit) -> None:
        """All was spoken when it was pushed."""

    def close(self) -> None:
        """Do nothing: no state is kept."""

    def _phrase(self, phrase: Piece, offset: int, settings: VoiceSettings) -> Iterator[Speech]:
        spoken = self._engine.encoded(phrase.text, settings)
        if spoken is None:
            return
        encoded, timed = spoken
        hop = self._engine.settings.hop
        quiet_end = QuietEnd(round(_PAUSE_S * self._rate_hz))
        begin, cut = self._spoken, 0
        made = 0
        for sound in self._engine.graph.sound(encoded):
            samples = _pcm(sound)
            made += len(samples)
            if self._silent:
                skipped = self._quiet_begin(sound)
                cut += skipped
                samples = samples[skipped:]
                self._silent = not len(samples)
            samples = quiet_end.push(samples)
            reached = made - cut
            words = [(at, frame) for at, frame in timed if frame * hop - cut < reached]
            timed = timed[len(words) :]
            yield from self._speech(samples, words, offset + phrase.character, begin - cut, hop)
        yield from self._speech(quiet_end.finish(), timed, offset + phrase.character, begin - cut, hop)

    def _speech(
        self, samples: Samples, words: list[tuple[int, int]], offset: int, begin: int, hop: int
    ) -> Iterator[Speech]:
        if len(samples) or words:
            self._spoken += len(samples)
            timings = (WordTiming(offset + at, max(0, begin + frame * hop)) for at, frame in words)
            yield Speech(samples, tuple(timings))

    def _quiet_begin(self, sound: NDArray[np.float32]) -> int:
        """Return how many samples of a text's first sound are left out."""
        loud = np.flatnonzero(np.abs(sound) > _QUIET)
        first = int(loud[0]) if len(loud) else len(sound)
        return max(0, first - round(_LEAD_S * self._rate_hz))


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings in a voice's .onnx.json."""

    rate_hz: int
    hop: int
    speakers: int
    speaker_ids: dict[str, int]
    noise: float
    noise_of_durations: float
    length_scale: float
    id_of: dict[str, int]

    def ids(self, words: list[SpokenWord]) -> tuple[list[int], list[int]]:
        """Return the phoneme ids of words, and for each the index among them where it begins.

        As Piper has them: a begin mark, a blank after every phoneme, an end mark.
        """
        ids = [self.id_of[_BEGIN], self.id_of[_PAD]]
        starts = []
        for word in words:
            phonemes = [mark for mark in unicodedata.normalize("NFD", word.phonemes) if mark in self.id_of]
            if phonemes and len(ids) > 2:
                ids += [self.id_of[" "], self.id_of[_PAD]]
            starts.append(len(ids))
            for phoneme in phonemes:
                ids += [self.id_of[phoneme], self.id_of[_PAD]]
        return [*ids, self.id_of[_END]], starts


def _settings(voice: Path) -> _Settings:
    """Read a voice's settings. Raises SynthesizerError."""
    path = Path(f"{voice}.json")
    for each in (voice, path):
        if not each.is_file():
            raise SynthesizerError(f"voice {str(voice)!r}: {str(each)!r} is not a file")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        language = told["espeak"]["voice"]
        if language not in _ENGLISH:
            raise SynthesizerError(
                f"voice {str(voice)!r} speaks {language!r}; allowed: {', '.join(_ENGLISH)}. "
                'For others: engine = "piper"'
            )
        inference = told.get("inference", {})
        return _Settings(
            rate_hz=int(told["audio"]["sample_rate"]),
            hop=int(told.get("hop_length", 256)),
            speakers=int(told.get("num_speakers", 1)),
            speaker_ids=speakers_of(int(told.get("num_speakers", 1)), told.get("speaker_id_map") or {}),
            noise=float(inference.get("noise_scale", 0.667)),
            noise_of_durations=float(inference.get("noise_w", 0.8)),
            length_scale=float(inference.get("length_scale", 1)),
            id_of={phoneme: int(ids[0]) for phoneme, ids in told["phoneme_id_map"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise SynthesizerError(f"voice {str(voice)!r} cannot be loaded: {str(path)!r}: {error!r}") from error


def _pcm(sound: NDArray[np.float32]) -> Samples:
    return (np.clip(sound * _GAIN, -1, 1) * 32_767).astype(np.int16)


def misfits(voice: Path, speed: float = 1.0, **_: object) -> Iterator[tuple[str, str]]:
    """Yield the keyword arguments with which it would not start, and why, without loading anything."""
    if not 0.25 <= speed <= 4:
        yield "speed", f"speed is {speed}; allowed: 0.25 to 4"
    try:
        _settings(voice)
    except SynthesizerError as error:
        yield "voice", str(error)
