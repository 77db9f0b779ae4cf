"""The two halves of a Moonshine model in onnxruntime, and steps of its decoder. All of it blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from audio.onnx.runtime import OrtFile, onnx_session
from audio.pcm import Samples
from audio.recognizers import RecognizerError
from audio.recognizers.low_rank import Floats, read_corrections

Past = dict[str, Floats]
"""Keys and values, by name; each [texts, heads, positions, size]."""

_STATE_SAMPLES = 384  # of the sound that one state of the encoder stands for


class EncoderDecoder:
    """The sessions of a model's two files, each on one thread. Raises RecognizerError.

    adapter: corrections to the encoder, as `adaptation/` writes them; None for none.
    """

    def __init__(self, encoder: Path, decoder: Path, adapter: Path | None = None) -> None:
        self._encoder = _session(encoder, None if adapter is None else _adapted(encoder, adapter))
        self._decoder = _session(decoder)
        inputs = {one.name: one.shape for one in self._decoder.get_inputs()}
        self._names = [name for name in inputs if name.startswith("past_key_values.")]
        _, heads, _, size = inputs[self._names[0]]
        self._nothing: Floats = np.zeros((1, heads, 0, size), np.float32)

    def encode(self, sound: Samples) -> Floats:
        """The states [1, length, hidden] of `sound`, 16 kHz."""
        wave = sound.astype(np.float32)[np.newaxis] / np.float32(32_768)
        inputs = {"input_values": wave, "attention_mask": np.ones(wave.shape, np.int64)}
        states: Floats = self._encoder.run(None, inputs)[0]
        return states

    def read(self, states: Floats, tokens: list[int]) -> tuple[Floats, Past]:
        """Read the first tokens of a text.

        states: [1, length, hidden]. Returns logits [tokens, vocabulary], and what is past behind them.
        """
        nothing = dict.fromkeys(self._names, self._nothing)
        logits, present = self._run(states, nothing, [tokens], cached=False)
        return logits[0], dict(zip(self._names, present, strict=True))

    def step(self, states: Floats, past: Past, tokens: list[int]) -> tuple[Floats, Past]:
        """Read one more token of each text.

        states: [texts, length, hidden]. Returns logits [texts, vocabulary], and what is past behind them, but
        for what is known of the sound, which the first reading alone makes.
        """
        logits, present = self._run(states, past, [[token] for token in tokens], cached=True)
        return logits[:, -1], dict(zip(self._names, present, strict=True))

    def _run(
        self, states: Floats, past: Past, tokens: list[list[int]], *, cached: bool
    ) -> tuple[Floats, list[Floats]]:
        # Counted in samples, and thinned out inside to one a state.
        mask = np.ones((len(tokens), (states.shape[1] - 1) * _STATE_SAMPLES + 1), np.int64)
        inputs = {
            "encoder_hidden_states": states,
            "encoder_attention_mask": mask,
            "input_ids": np.array(tokens),
            "use_cache_branch": np.array([cached]),
        }
        logits, *present = self._decoder.run(None, past | inputs)
        return logits, present


def _session(path: Path, content: bytes | None = None) -> Any:
    """That of a file, or of its `content` where that is not as it is there."""
    try:
        return onnx_session(content or str(path))
    except Exception as error:  # onnxruntime's have no common base
        raise RecognizerError(f"moonshine: {str(path)!r} cannot be loaded: {error}") from error


def _adapted(encoder: Path, adapter: Path) -> bytes:
    try:
        corrections = read_corrections(adapter)
    except (OSError, ValueError) as error:
        raise RecognizerError(f"moonshine: adapter {str(adapter)!r} cannot be read: {error}") from error
    try:
        file = OrtFile(encoder.read_bytes())
    except (OSError, ValueError) as error:
        raise RecognizerError(f"moonshine: {str(encoder)!r} cannot be loaded: {error}") from error
    try:
        for place, correction in corrections.items():
            file.add(place, correction.product)
    except (ValueError, KeyError) as error:
        raise RecognizerError(
            f"moonshine: adapter {str(adapter)!r} is for another model than {str(encoder)!r}: {error}"
        ) from error
    return bytes(file.data)
