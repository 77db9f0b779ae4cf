"""Piper, neural voices: blocking.

The library (GPL-3) is loaded only by the constructor, so that a server can keep it in a separate process.
"""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import onnx

from audio.onnx.runtime import onnx_session
from audio.pcm import Samples
from audio.synthesizers import Emit, SynthesizerError, WordTiming, in_chunks
from audio.synthesizers.pieces import (
    Piece,
    QuietEnd,
    aligned_word_starts,
    phoneme_word_starts,
    text_word_starts,
)
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings, speakers_of

if TYPE_CHECKING:
    from piper import AudioChunk, PiperVoice

_PAUSE_S = 0.12
_DOWNLOAD_TIMEOUT_S = 30
_NAME = re.compile(r"[^-]+_[^-]+-[^-]+-.+")
"""Names of published voices: language, region, speaker, quality; see VOICE_PATTERN of piper.download_voices.
"""


class PiperSynthesizer:
    """A Piper voice, with word timings if the voice reports the length of its phonemes.

    Args:
        voice: a name such as "en_US-lessac-medium", or the path of an .onnx file that has its .onnx.json next
            to it.
        data_dir: folder of named voices, also for downloads; default `~/.local/share/piper-voices`.
        speaker: index of one of the voice's speakers.
        length_scale: over 1 is slower.
        local_files_only: never download. Implied by HF_HUB_OFFLINE, as voices come from that hub.
        threads: CPU threads of the model.

    Raises:
        SynthesizerError: the voice cannot be found, downloaded or loaded, or an argument is out of range.
    """

    turn_characters: ClassVar[int] = 120
    """About 8 s of audio."""
    takes_speed: ClassVar[bool] = True
    known_voices: KnownVoices = KnownVoices()

    def __init__(
        self,
        voice: str,
        data_dir: Path | None = None,
        speaker: int | None = None,
        length_scale: float | None = None,
        local_files_only: bool = False,
        threads: int = 2,
    ) -> None:
        from piper import SynthesisConfig  # noqa: PLC0415  GPL-3

        path = find_voice(voice, _folder(data_dir), local_files_only)
        try:
            self.voice = _load(path, threads)
        except Exception as error:  # JSON, missing keys, ONNX: each library has its own
            raise SynthesizerError(f"voice {str(path)!r} cannot be loaded: {error!r}") from error
        speakers = self.voice.config.num_speakers
        if speaker is not None and not 0 <= speaker < speakers:
            raise SynthesizerError(f"speaker is {speaker}; allowed for this voice: 0 to {speakers - 1}")
        if length_scale is not None and length_scale <= 0:
            raise SynthesizerError(f"length_scale is {length_scale}; allowed: over 0")
        self._speakers = speakers_of(speakers, self.voice.config.speaker_id_map)
        self.known_voices = KnownVoices(tuple(self._speakers) if speakers > 1 else ())
        self._config = SynthesisConfig(speaker_id=speaker, length_scale=length_scale)
        for _ in self.sentences("Hello."):
            pass  # warm up: a voice's first run is several times slower than later ones

    @property
    def rate_hz(self) -> int:
        """Sample rate of the audio."""
        return int(self.voice.config.sample_rate)

    def open(self) -> SpokenText:
        """Begin a text."""
        return SpokenText(self)

    def sentences(self, text: str, settings: VoiceSettings = USUAL_SETTINGS) -> Iterator[AudioChunk]:
        """Yield the audio of each sentence of `text`, synthesized on demand."""
        config = self._config
        length_scale = config.length_scale or self.voice.config.length_scale
        speaker = self._speakers.get(settings.voice, config.speaker_id)
        config = replace(config, speaker_id=speaker, length_scale=length_scale / settings.speed)
        yield from self.voice.synthesize(text, config, include_alignments=True)


class SpokenText:
    """Synthesis of one text, piece by piece."""

    def __init__(self, engine: PiperSynthesizer) -> None:
        self._engine = engine
        self._rate_hz = engine.rate_hz
        self._spoken = 0

    def push(self, piece: Piece, emit: Emit) -> None:
        """Speak the next piece, sentence by sentence.

        Args:
            piece: follows the previous one.
            emit: receives the audio.
        """
        sentences = [phonemes for phonemes in self._engine.voice.phonemize(piece.text) if phonemes]
        begin = 0
        starts = self._word_starts(piece.text, sentences)
        chunks = self._engine.sentences(piece.text, piece.settings)
        for chunk, phonemes in zip(chunks, sentences, strict=True):
            end = begin + len(phonemes)
            here = [(piece.character + at, index - begin) for at, index in starts if begin <= index < end]
            begin = end
            if not self._send(chunk.audio_int16_array, self._word_timings(here, chunk), emit):
                return

    def finish(self, emit: Emit) -> None:
        """Do nothing: `push` emitted all audio."""

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _word_starts(self, text: str, sentences: list[list[str]]) -> list[tuple[int, int]]:
        """Return pairs (index in `text`, index in the phonemes of all sentences) of the starts of words."""
        starts = text_word_starts(text)
        phonemes = [phoneme for sentence in sentences for phoneme in sentence]
        ends = list(accumulate(map(len, sentences), initial=0))
        spoken = [
            begin + index
            for begin, sentence in zip(ends, sentences, strict=False)
            for index in phoneme_word_starts(sentence)
        ]
        if len(spoken) == len(starts) and not any(map(str.isdigit, text)):
            return list(zip(starts, spoken, strict=True))
        words = [self._spoken_alone(text[start:].split(maxsplit=1)[0]) for start in starts]
        found = zip(starts, aligned_word_starts(words, phonemes), strict=True)
        return [(start, index) for start, index in found if index is not None]

    def _spoken_alone(self, word: str) -> str:
        """Return the phonemes of a word when spoken alone."""
        sentences = self._engine.voice.phonemize(word)
        return "".join(phoneme for sentence in sentences for phoneme in sentence)

    def _word_timings(self, starts: list[tuple[int, int]], chunk: AudioChunk) -> list[WordTiming]:
        """Return a sentence's word timings. starts: pairs (index in the text, index in its phonemes)."""
        alignments = chunk.phoneme_alignments
        if not alignments:
            return []
        ends = np.cumsum([alignment.num_samples for alignment in alignments])  # entry 0 is the begin mark
        return [WordTiming(character, self._spoken + int(ends[index])) for character, index in starts]

    def _send(self, sound: Samples, words: list[WordTiming], emit: Emit) -> bool:
        """Emit one sentence in chunks, each with the words that begin in it. Return False once cancelled."""
        quiet_end = QuietEnd(round(_PAUSE_S * self._rate_hz))
        sound = np.concatenate([quiet_end.push(sound), quiet_end.finish()])
        begin, self._spoken = self._spoken, self._spoken + len(sound)
        return all(map(emit, in_chunks(sound, words, begin, self._rate_hz)))


def _load(path: Path, threads: int) -> PiperVoice:
    """Load a voice as `PiperVoice.load` does, but with a given number of threads: that uses one a core."""
    from piper import PiperConfig, PiperVoice  # noqa: PLC0415  GPL-3
    from piper.patch_voice_with_alignment import add_alignment_output  # noqa: PLC0415

    graph = onnx.load(path)
    with suppress(ValueError):  # the graph has alignments already, or cannot have them
        add_alignment_output(graph)
    config = PiperConfig.from_dict(json.loads(Path(f"{path}.json").read_text("utf-8")))
    model = graph.SerializeToString()
    del graph  # as large as the model
    return PiperVoice(onnx_session(model, threads, varying_shapes=True), config)


def misfits(
    voice: str,
    data_dir: Path | None = None,
    speaker: int | None = None,
    length_scale: float | None = None,
    **_: object,
) -> Iterator[tuple[str, str]]:
    """Yield each invalid argument with what is allowed, without loading the voice.

    `speaker` is checked only if the voice's settings are on disk.
    """
    if not voice.endswith(".onnx") and not _NAME.match(voice):
        yield "voice", _invalid_name(voice)
    path = Path(voice) if voice.endswith(".onnx") else _folder(data_dir) / f"{voice}.onnx"
    try:
        settings = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
        speakers = int(settings["num_speakers"])
    except (OSError, ValueError, KeyError, TypeError):
        speakers = 0
    if speaker is not None and speakers and not 0 <= speaker < speakers:
        yield "speaker", f"allowed for this voice: 0 to {speakers - 1}"
    if length_scale is not None and length_scale <= 0:
        yield "length_scale", "allowed: over 0"


def _invalid_name(voice: str) -> str:
    return f"voice {voice!r} is neither an .onnx file nor a name like 'en_US-lessac-medium'"


def _folder(data_dir: Path | None) -> Path:
    return data_dir or Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "piper-voices"


def find_voice(voice: str, data_dir: Path, local_files_only: bool) -> Path:
    """Return the .onnx file of a voice given by path or by name, downloading it if needed.

    Args:
        voice: a path that ends in .onnx, or a published name.
        data_dir: folder of named voices.
        local_files_only: never download.

    Raises:
        SynthesizerError: the voice cannot be had; the message names the folder searched and the remedy.
    """
    if voice.endswith(".onnx"):
        for path in (Path(voice), Path(f"{voice}.json")):
            if not path.is_file():
                raise SynthesizerError(f"voice {voice!r}: {str(path)!r} is not a file")
        return Path(voice)
    if not _NAME.match(voice):
        raise SynthesizerError(_invalid_name(voice))
    path = data_dir / f"{voice}.onnx"
    if path.is_file() and Path(f"{path}.json").is_file():
        return path
    if local_files_only or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise _unavailable(voice, data_dir, "downloading is switched off")
    try:
        _download(voice, data_dir)
    except OSError as error:
        raise _unavailable(voice, data_dir, f"could not be downloaded: {error}") from error
    return path


def _download(voice: str, data_dir: Path) -> None:
    """Download a voice with Piper's own loader into a temporary folder: a partial file is no voice."""
    from piper.download_voices import download_voice  # noqa: PLC0415  GPL-3

    data_dir.mkdir(parents=True, exist_ok=True)
    socket.setdefaulttimeout(_DOWNLOAD_TIMEOUT_S)
    try:
        with tempfile.TemporaryDirectory(dir=data_dir) as temporary:
            download_voice(voice, Path(temporary))
            for path in sorted(Path(temporary).iterdir(), reverse=True):  # the settings before the model
                path.replace(data_dir / path.name)
    finally:
        socket.setdefaulttimeout(None)


def _unavailable(voice: str, data_dir: Path, why: str) -> SynthesizerError:
    return SynthesizerError(
        f"voice {voice!r} is not in {str(data_dir)!r} and {why}. Either run "
        f"`python -m piper.download_voices --data-dir {data_dir} {voice}` where there is a network, "
        "or give the path of an .onnx file as the voice"
    )
