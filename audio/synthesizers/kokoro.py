"""Kokoro-82M's voices through onnxruntime: blocking, phrase by phrase.

English needs no espeak-ng (GPL-3); other languages do, in the engine's own process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from audio.onnx.kokoro_graph import HOP, MAX_PHONEMES, RATE_HZ, STYLE_VALUES, KokoroGraph, NotKokoro
from audio.onnx.runtime import CPU_PROVIDERS, CUDA_PROVIDERS
from audio.pcm import Samples
from audio.synthesizers import Emit, SynthesizerError, WordTiming, in_chunks
from audio.synthesizers.english_phonemes import EnglishPhonemes, SpokenWord
from audio.synthesizers.espeak_phonemes import EspeakPhonemes
from audio.synthesizers.phrases import phrases
from audio.synthesizers.pieces import Piece, QuietEnd
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings

Floats = NDArray[np.float32]

_PAUSE_S = 0.12
_LEAD_S = 0.01
"""Quiet before a text's first sound; the model makes 0.3 s and more."""
_LEAD_WITHIN_S = 0.06
"""The same before later phrases: with _PAUSE_S the pause between two sentences."""
_QUIET = 0.01
_USUAL = "af_heart"
_GAIN = 1.3
_LONGEST_PHRASE = 80
"""Characters, about 5 s of speech: other texts wait meanwhile."""
_RUNS = {
    1: ";:,.!?",
    9: '—…"()“” \u0303ʣʥʦʨᵝꭧAI',
    31: "O",
    33: "Q",
    35: "ST",
    39: "W",
    41: "Yᵊabcdef",
    50: "hijklmnopqrstuvwxyzɑɐɒæ",
    75: "βɔɕç",
    80: "ɖðʤə",
    85: "ɚɛɜ",
    90: "ɟ",
    92: "ɡ",
    99: "ɥ",
    101: "ɨɪʝ",
    110: "ɯɰŋɳɲɴø",
    118: "ɸθœ",
    123: "ɹ",
    125: "ɾɻ",
    128: "ʁɽʂʃʈʧ",
    135: "ʊʋ",
    138: "ʌɣɤ",
    142: "χʎ",
    147: "ʒʔ",
    156: "ˈˌː",
    162: "ʰ",
    164: "ʲ",
    169: "↓",
    171: "→↗↘",
    177: "ᵻ",
}
"""Runs of consecutive ids, from `vocab` in the config.json of hexgrad/Kokoro-82M."""
_PHONEME_IDS = {sign: first + number for first, signs in _RUNS.items() for number, sign in enumerate(signs)}


_ESPEAK = {"es": "es", "fr": "fr", "hi": "hi", "it": "it", "pt": "pt-br"}
"""Languages whose phonemes come from espeak-ng, with its names for them."""
_LETTERS = {"en": "ab", "es": "e", "fr": "f", "hi": "h", "it": "i", "pt": "p"}
"""First letters of the voices of each language."""


class KokoroSynthesizer:
    """Kokoro-82M's voices of one language, with word timings.

    Args:
        model: its .onnx file, with the folder `voices` beside it, or beside its folder.
        language: "en", or one of "es", "fr", "hi", "it", "pt", which need espeak-ng.
        voice: name of a file in that folder, without its ending; "" for the first one, in English "af_heart".
            "af_" and "am_" are American, "bf_" and "bm_" British; both are given American phonemes.
        speed: 1.0 is the voice's own, 2.0 twice as fast.
        threads: of the processor.
        device: "cuda" needs onnxruntime-gpu, and a model in 32 or 16 bits: CUDA lacks the operations of int8.

    Raises:
        SynthesizerError: the model or the voice cannot be loaded.
    """

    turn_characters: ClassVar[int] = 600
    """Other texts get their turn within a piece too, after each phrase."""
    takes_speed: ClassVar[bool] = True
    known_voices: KnownVoices = KnownVoices()

    def __init__(
        self,
        model: Path,
        language: str = "en",
        voice: str = "",
        speed: float = 1.0,
        threads: int = 1,
        device: Literal["cpu", "cuda"] = "cpu",
    ) -> None:
        for _, message in misfits(model, language, voice, speed, threads, device):
            raise SynthesizerError(message)
        self._voices = _voices(model, language)
        self.known_voices = KnownVoices(tuple(self._voices))
        voice = voice or (_USUAL if _USUAL in self._voices else next(iter(self._voices)))
        self._voice, self._speed = voice, speed
        self._styles = lru_cache(len(self._voices))(lambda name: _styles(self._voices[name]))
        self._styles(voice)
        try:
            providers = CPU_PROVIDERS if device == "cpu" else CUDA_PROVIDERS
            self._graph = KokoroGraph(model, threads, providers)
        except Exception as error:  # onnxruntime and onnx have no common exception
            reason = str(error) if isinstance(error, NotKokoro) else repr(error)
            raise SynthesizerError(f"model {str(model)!r} cannot be loaded: {reason}") from error
        self.phonemes = EnglishPhonemes("misaki") if language == "en" else EspeakPhonemes(_ESPEAK[language])
        self.sound(self.phonemes("Hola."))  # the first run is slower than the others

    @property
    def rate_hz(self) -> int:
        """Sample rate of the audio."""
        return RATE_HZ

    def open(self) -> SpokenText:
        """Begin a text."""
        return SpokenText(self)

    def sound(
        self, words: Sequence[SpokenWord], settings: VoiceSettings = USUAL_SETTINGS
    ) -> tuple[Floats, list[tuple[int, int]]]:
        """Return the sound of words, and each as a pair (index in the text, first sample).

        words: of at most MAX_PHONEMES phonemes in all.
        """
        ids: list[int] = []
        starts = []
        for word in words:
            phonemes = _ids(word)
            if phonemes and ids:
                ids.append(_PHONEME_IDS[" "])
            if phonemes and word.character >= 0:
                starts.append((word.character, len(ids)))
            ids += phonemes
        style = self._styles(settings.voice or self._voice)[len(ids)]
        sound, frames = self._graph.speak(ids, style, self._speed * settings.speed)
        ends = np.cumsum(frames) * HOP  # of the begin mark, then of each phoneme
        return sound, [(character, int(ends[start])) for character, start in starts]


class SpokenText:
    """One text: its pieces spoken one after the other, phrase by phrase."""

    def __init__(self, engine: KokoroSynthesizer) -> None:
        self._engine = engine
        self._spoken = 0

    def push(self, piece: Piece, emit: Emit) -> Iterator[None]:
        """Speak the next piece; other texts get their turn after each phrase."""
        for phrase in phrases(piece.text, first=not self._spoken, longest=_LONGEST_PHRASE):
            if not any(map(str.isalnum, phrase.text)):
                continue
            for words in _in_runs(self._engine.phonemes(phrase.text)):
                if not self._speak(words, piece.character + phrase.character, piece.settings, emit):
                    return
                yield

    def finish(self, emit: Emit) -> None:
        """All was spoken when it was pushed."""

    def close(self) -> None:
        """Do nothing: no state is kept."""

    def _speak(self, words: Sequence[SpokenWord], offset: int, settings: VoiceSettings, emit: Emit) -> bool:
        """Emit the sound of words. Returns False once the text is cancelled."""
        sound, starts = self._engine.sound(words, settings)
        cut = _quiet_begin(sound, _LEAD_WITHIN_S if self._spoken else _LEAD_S)
        quiet_end = QuietEnd(round(_PAUSE_S * RATE_HZ))
        samples = np.concatenate([quiet_end.push(_pcm(sound[cut:])), quiet_end.finish()])
        begin, self._spoken = self._spoken, self._spoken + len(samples)
        timings = [WordTiming(offset + at, begin + max(0, start - cut)) for at, start in starts]
        return all(map(emit, in_chunks(samples, timings, begin, RATE_HZ)))


def _in_runs(words: Sequence[SpokenWord]) -> Iterator[list[SpokenWord]]:
    """Yield words in runs of at most MAX_PHONEMES phonemes; a word of more is cut short. Runs without a
    spoken word are left out.
    """
    run: list[SpokenWord] = []
    count = 0
    for word in words:
        phonemes = len(_ids(word)) + 1
        if run and count + phonemes > MAX_PHONEMES:
            yield run
            run, count = [], 0
        if _ids(word) and (word.character >= 0 or run):
            run.append(SpokenWord(word.character, word.phonemes[: MAX_PHONEMES - 1]))
            count += phonemes
    if run:
        yield run


def _ids(word: SpokenWord) -> list[int]:
    return [_PHONEME_IDS[phoneme] for phoneme in word.phonemes if phoneme in _PHONEME_IDS]


def _quiet_begin(sound: Floats, lead_s: float) -> int:
    """Return the number of quiet samples at the beginning, less `lead_s`."""
    loud = np.flatnonzero(np.abs(sound) > _QUIET)
    first = int(loud[0]) if len(loud) else len(sound)
    return max(0, first - round(lead_s * RATE_HZ))


def _pcm(sound: Floats) -> Samples:
    return (np.clip(sound * _GAIN, -1, 1) * 32_767).astype(np.int16)


def _voices(model: Path, language: str) -> dict[str, Path]:
    """Return the files of a language's voices by name; {} if there is no folder."""
    folders = [folder / "voices" for folder in (model.parent, model.parent.parent)]
    folder = next((each for each in folders if each.is_dir()), folders[0])
    return {path.stem: path for path in sorted(folder.glob(f"[{_LETTERS[language]}][fm]_*.bin"))}


def _styles(path: Path) -> Floats:
    """Read a voice's styles, [number of phonemes, 1, STYLE_VALUES]. Raises SynthesizerError."""
    try:
        return np.fromfile(path, "<f4").reshape(MAX_PHONEMES + 1, 1, STYLE_VALUES)
    except (OSError, ValueError) as error:
        raise SynthesizerError(f"voice {str(path)!r} cannot be loaded: {error}") from error


def misfits(
    model: Path,
    language: str = "en",
    voice: str = "",
    speed: float = 1.0,
    threads: int = 1,
    device: str = "cpu",
    **_: object,
) -> Iterator[tuple[str, str]]:
    """Yield the keyword arguments with which it would not start, and why, without loading the model."""
    if not 0.25 <= speed <= 4:
        yield "speed", f"speed is {speed}; allowed: 0.25 to 4"
    if threads < 1:
        yield "threads", f"threads is {threads}; allowed: 1 or more"
    if device == "cuda" and CUDA_PROVIDERS[0] not in onnxruntime.get_available_providers():
        yield (
            "device",
            "the installed onnxruntime has no CUDA; install onnxruntime-gpu in its place, or use cpu",
        )
    if language not in _LETTERS:
        yield "language", f"language is {language!r}; allowed: {', '.join(_LETTERS)}"
    elif language != "en" and find_spec("espeakng_loader") is None:
        message = "needs espeak-ng: pip install 'voiceagent-server[espeak]' (GPL-3)"
        yield "language", f"language {language!r} {message}"
    elif not model.is_file():
        yield "model", f"model {str(model)!r} is not a file"
    elif not (voices := _voices(model, language)):
        yield (
            "model",
            f"model {str(model)!r} has no folder with voices of {language!r} beside it: voices/*.bin",
        )
    elif voice and voice not in voices:
        yield "voice", f"voice is {voice!r}; allowed: {', '.join(voices)}"
