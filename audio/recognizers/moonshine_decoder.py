"""The encoder and decoder of a Moonshine model in onnxruntime: audio in, candidate tokens out. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audio.onnx.moonshine_encoder_graph import encoder_graph
from audio.onnx.moonshine_graph import decoder_graph, decoder_shape, sound_graph
from audio.onnx.runtime import OrtFile, onnx_session
from audio.pcm import Samples
from audio.recognizers import RecognizerError
from audio.recognizers.decoding.beam_search import Likeliest
from audio.recognizers.low_rank import Floats, read_corrections

NONE_RATED: NDArray[np.int64] = np.zeros(0, np.int64)
KeysValues = list[Floats]
"""Attention cache of audio or of texts, by layer: keys, values, ...; each [texts, heads, positions, size]."""


class Encoder:
    """The session of a model's encoder, on one thread.

    Args:
        encoder: encoder_model.ort.
        heads: attention heads of a layer.
        adapter: its corrections from `adaptation/`; None for none.

    Raises:
        RecognizerError: a file cannot be loaded.
    """

    def __init__(self, encoder: Path, heads: int, adapter: Path | None = None) -> None:
        file = _read(encoder)
        if adapter is not None:
            _correct(file, encoder, adapter)
        with _naming_file(encoder, "encoder"):
            self._session = _session(encoder, partial(encoder_graph, file, heads))

    def encode(self, sound: Samples) -> Floats:
        """Return the states of `sound`, [n] at 16 kHz: [1, length, hidden]."""
        wave = sound.astype(np.float32)[np.newaxis] / np.float32(32_768)
        states: Floats = self._session.run(None, {"wave": wave})[0]
        return states


class EncoderDecoder:
    """Sessions of a model's two files, each on one thread.

    Args:
        encoder: encoder_model.ort.
        decoder: decoder_model_merged.ort.
        adapter: corrections of the encoder from `adaptation/`; None for none.

    Raises:
        RecognizerError: a file cannot be loaded.
    """

    def __init__(self, encoder: Path, decoder: Path, adapter: Path | None = None) -> None:
        file = _read(decoder)
        with _naming_file(decoder, "decoder"):
            shape = decoder_shape(file)
            self._audio_session = _session(decoder, partial(sound_graph, file))
            self._decoder = _session(decoder, partial(decoder_graph, file))
        self._encoder = Encoder(encoder, shape.heads, adapter)
        self._past, self._sound = shape.names("past"), shape.names("sound")
        nothing: Floats = np.zeros((1, shape.heads, 0, shape.size), np.float32)
        self.empty_cache: KeysValues = [nothing] * len(self._past)
        """Attention cache of a text before its first token."""

    def encode(self, sound: Samples) -> Floats:
        """Return the encoder's states of `sound`, [n] at 16 kHz: [1, length, hidden]."""
        return self._encoder.encode(sound)

    def cache_audio(self, states: Floats) -> KeysValues:
        """Return the audio's attention cache for all texts, from its states."""
        known: KeysValues = self._audio_session.run(None, {"states": states})
        return known

    def decode_tokens(
        self,
        sound: KeysValues,
        past: KeysValues,
        tokens: Sequence[Sequence[int]],
        rated: NDArray[np.int64] = NONE_RATED,
    ) -> tuple[Likeliest, KeysValues]:
        """Process the next tokens of several texts.

        Args:
            sound: the audio's attention cache.
            past: attention cache of the texts so far, all of one length.
            tokens: the next tokens of each text, equally many.
            rated: the only candidates, if there are any, likely or not.

        Returns:
            Candidates after each token, [texts, count, n], and the extended cache.
        """
        position = np.array([past[0].shape[2]])
        inputs = {"tokens": np.array(tokens, np.int64), "position": position, "rated": rated}
        inputs |= dict(zip(self._sound, sound, strict=True)) | dict(zip(self._past, past, strict=True))
        likeliest, logarithms, of_rated, *present = self._decoder.run(None, inputs)
        if len(rated):
            return Likeliest(np.broadcast_to(rated, of_rated.shape), of_rated), present
        return Likeliest(likeliest, logarithms), present


@contextmanager
def _naming_file(path: Path, what: str) -> Iterator[None]:
    """Convert errors about a file's content to a RecognizerError that names the file."""
    try:
        yield
    except (KeyError, IndexError, ValueError) as error:
        raise RecognizerError(f"moonshine: {str(path)!r} is no {what} of Moonshine's: {error}") from error


def _session(path: Path, write: Callable[[Path], Path]) -> Any:
    """Build a graph in a temporary folder and return its session, which does not need the folder any more."""
    with TemporaryDirectory() as folder:
        graph = write(Path(folder))
        try:
            return onnx_session(graph)
        except Exception as error:  # onnxruntime's have no common base
            raise RecognizerError(f"moonshine: {str(path)!r} cannot be loaded: {error}") from error


def _read(path: Path) -> OrtFile:
    try:
        return OrtFile(path)
    except (OSError, ValueError) as error:
        raise RecognizerError(f"moonshine: {str(path)!r} cannot be loaded: {error}") from error


def _correct(file: OrtFile, encoder: Path, adapter: Path) -> None:
    """Add an adapter's corrections to the matrices of an encoder's file."""
    try:
        corrections = read_corrections(adapter)
    except (OSError, ValueError) as error:
        raise RecognizerError(f"moonshine: adapter {str(adapter)!r} cannot be read: {error}") from error
    try:
        for place, correction in corrections.items():
            file.add(place, correction.product)
    except (ValueError, KeyError) as error:
        raise RecognizerError(
            f"moonshine: adapter {str(adapter)!r} is for another model than {str(encoder)!r}: {error}"
        ) from error
