"""Piper in a worker process (GPL-3: nothing of it is loaded anywhere else)."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from piper import AudioChunk, PiperVoice, SynthesisConfig
from piper.download_voices import VOICE_PATTERN, download_voice

from audio.pcm import Samples
from audio.synthesizers import Speech, WordTiming
from audio.synthesizers.pieces import Piece
from audio.synthesizers.quiet_end import QuietEnd
from audio.synthesizers.word_starts import phoneme_word_starts, text_word_starts
from audio.worker import Emit, EngineFailure

_CHUNK_S = 0.2
_PAUSE_S = 0.12
_DOWNLOAD_TIMEOUT_S = 30


class PiperEngine:
    """One voice. Raises EngineFailure where it cannot be had."""

    def __init__(
        self,
        voice: str,
        data_dir: Path,
        speaker: int | None,
        length_scale: float | None,
        local_files_only: bool,
    ) -> None:
        path = find_voice(voice, data_dir, local_files_only)
        try:
            # Phoneme lengths are an output that the onnx package adds to the voice's graph.
            self.voice = PiperVoice.load(path, include_alignments=find_spec("onnx") is not None)
        except Exception as error:  # JSON, missing keys, ONNX: each library has its own
            raise EngineFailure(f"voice {str(path)!r} cannot be loaded: {error!r}") from error
        speakers = self.voice.config.num_speakers
        if speaker is not None and not 0 <= speaker < speakers:
            raise EngineFailure(f"speaker is {speaker}; allowed for this voice: 0 to {speakers - 1}")
        if length_scale is not None and length_scale <= 0:
            raise EngineFailure(f"length_scale is {length_scale}; allowed: over 0")
        self.settings = SynthesisConfig(speaker_id=speaker, length_scale=length_scale)
        for _ in self.sentences("Hello."):
            pass  # the first run of a voice is several times slower than the others

    @property
    def facts(self) -> Mapping[str, Any]:
        """rate_hz: of all its sound."""
        return {"rate_hz": self.voice.config.sample_rate}

    def open(self) -> SpokenText:
        """A text to speak."""
        return SpokenText(self)

    def sentences(self, text: str) -> Iterator[AudioChunk]:
        """The sound of each sentence of `text`, made as it is asked for."""
        yield from self.voice.synthesize(text, self.settings, include_alignments=True)


class SpokenText:
    """One text: its pieces spoken one after the other."""

    def __init__(self, engine: PiperEngine) -> None:
        self._engine = engine
        self._rate_hz = engine.voice.config.sample_rate
        self._spoken = 0

    def push(self, piece: Piece, emit: Emit) -> None:
        """Speak the next piece, sentence by sentence."""
        starts = text_word_starts(piece.text)
        spoken = [phoneme_word_starts(phonemes) for phonemes in self._engine.voice.phonemize(piece.text)]
        if sum(map(len, spoken)) != len(starts) or any(map(str.isdigit, piece.text)):
            starts = []  # numbers are several words, some words are run together: better no times than wrong
        for chunk in self._engine.sentences(piece.text):
            words = self._timed(piece, starts, chunk)
            starts = starts[len(words) :]
            if not self._send(chunk.audio_int16_array, words, emit):
                return

    def finish(self, emit: Emit) -> None:
        """All was spoken when it was pushed."""

    def close(self) -> None:
        """Nothing is kept."""

    def _timed(self, piece: Piece, starts: list[int], chunk: AudioChunk) -> list[WordTiming]:
        """The words of a sentence, whose first word is the first of `starts`."""
        alignments = chunk.phoneme_alignments
        if not alignments:
            return []
        ends = np.cumsum([alignment.num_samples for alignment in alignments])
        words = phoneme_word_starts([alignment.phoneme for alignment in alignments[1:-1]])
        return [
            WordTiming(piece.character + character, self._spoken + int(ends[index]))
            for character, index in zip(starts, words, strict=False)
        ]

    def _send(self, sound: Samples, words: list[WordTiming], emit: Emit) -> bool:
        """One sentence in chunks, each with the words that begin in it; false once nobody listens."""
        quiet_end = QuietEnd(round(_PAUSE_S * self._rate_hz))
        sound = np.concatenate([quiet_end.push(sound), quiet_end.finish()])
        length = round(_CHUNK_S * self._rate_hz)
        for begin in range(0, len(sound), length):
            samples = sound[begin : begin + length]
            self._spoken += len(samples)
            last = begin + length >= len(sound)
            begun = [word for word in words if last or word.at_samples < self._spoken]
            words = words[len(begun) :]
            if not emit(Speech(samples, tuple(begun))):
                return False
        return True


def find_voice(voice: str, data_dir: Path, local_files_only: bool) -> Path:
    """The .onnx file of a voice given by path or by name, downloaded where it has to be.

    Raises EngineFailure, which names the voice, where it was looked for, and the way out.
    """
    if voice.endswith(".onnx"):
        for path in (Path(voice), Path(f"{voice}.json")):
            if not path.is_file():
                raise EngineFailure(f"voice {voice!r}: {str(path)!r} is not a file")
        return Path(voice)
    if not VOICE_PATTERN.match(voice):
        raise EngineFailure(f"voice {voice!r} is neither an .onnx file nor a name like 'en_US-lessac-medium'")
    path = data_dir / f"{voice}.onnx"
    if path.is_file() and Path(f"{path}.json").is_file():
        return path
    if local_files_only or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise _not_had(voice, data_dir, "downloading is switched off")
    try:
        _download(voice, data_dir)
    except OSError as error:
        raise _not_had(voice, data_dir, f"could not be downloaded: {error}") from error
    return path


def _download(voice: str, data_dir: Path) -> None:
    """Piper's own loader, into a folder beside, so that half a file is never taken for a voice."""
    data_dir.mkdir(parents=True, exist_ok=True)
    socket.setdefaulttimeout(_DOWNLOAD_TIMEOUT_S)
    try:
        with tempfile.TemporaryDirectory(dir=data_dir) as beside:
            download_voice(voice, Path(beside))
            for path in sorted(Path(beside).iterdir(), reverse=True):  # the settings first, then the model
                path.replace(data_dir / path.name)
    finally:
        socket.setdefaulttimeout(None)


def _not_had(voice: str, data_dir: Path, why: str) -> EngineFailure:
    return EngineFailure(
        f"voice {voice!r} is not in {str(data_dir)!r} and {why}. Either run "
        f"`python -m piper.download_voices --data-dir {data_dir} {voice}` where there is a network, "
        "or give the path of an .onnx file as the voice"
    )
