"""Kokoro's graph (StyleTTS 2 with an ISTFTNet decoder): phoneme ids and a style in, sound and durations out.

Its decoder normalizes over the whole phrase, so that it cannot run in windows as a Piper voice can: the sound
of a phrase comes at its end. (Li et al., "StyleTTS 2: Towards Human-Level Text-to-Speech through Style
Diffusion and Adversarial Training with Large Speech Language Models", 2023)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from audio.onnx.runtime import CPU_PROVIDERS, onnx_session

Floats = NDArray[np.float32]

RATE_HZ = 24_000
HOP = 600
"""Samples of a frame."""
MAX_PHONEMES = 509
"""Of a phrase: the model has 512 positions, two are the marks at its ends, and a voice's file has a style for
each number of phonemes below 510.
"""
STYLE_VALUES = 256
_END = 0


class NotKokoro(ValueError):
    """The graph is not Kokoro's; the message says what it lacks."""


class KokoroGraph:
    """The graph, loaded.

    Args:
        path: its .onnx file, as exported for kokoro-onnx or for onnx-community.
        threads: of the processor.
        providers: of onnxruntime, in order of preference.

    Raises:
        NotKokoro: inputs, output or durations are missing.
    """

    def __init__(self, path: Path, threads: int, providers: Sequence[str] = CPU_PROVIDERS) -> None:
        model = onnx.load(path)
        self._ids = _phoneme_input(model.graph)
        self._outputs = [model.graph.output[0].name, _durations(model.graph)]
        model.graph.output.append(onnx.ValueInfoProto(name=self._outputs[1]))
        data = model.SerializeToString()
        del model  # as large as the session
        self._session = onnx_session(data, threads, providers, varying_shapes=True)

    def speak(self, ids: Sequence[int], style: Floats, speed: float) -> tuple[Floats, NDArray[np.int64]]:
        """Return the sound of a phrase, [samples], and the frames of the begin mark and of each phoneme.

        Args:
            ids: at most MAX_PHONEMES.
            style: [1, STYLE_VALUES], of the voice for this number of phonemes.
            speed: 2.0 is twice as fast as the voice.
        """
        fed: dict[str, Any] = {
            self._ids: np.array([[_END, *ids, _END]], np.int64),
            "style": style,
            "speed": np.array([speed], np.float32),
        }
        sound, frames = self._session.run(self._outputs, fed)
        return sound.reshape(-1).astype(np.float32), frames.reshape(-1).astype(np.int64)


def _phoneme_input(graph: onnx.GraphProto) -> str:
    """Return the name of the input that takes phoneme ids: "tokens" or "input_ids". Raises NotKokoro."""
    inputs = {value.name for value in graph.input}
    names = inputs - {"style", "speed"}
    if len(inputs) != 3 or len(names) != 1:
        raise NotKokoro(f"its inputs are {', '.join(sorted(inputs))}, not phoneme ids, style and speed")
    return names.pop()


def _durations(graph: onnx.GraphProto) -> str:
    """Return the name of the frames of each phoneme: the first cumulative sum places them in time.

    Raises NotKokoro.
    """
    for node in graph.node:
        if node.op_type == "CumSum":
            return str(node.input[0])
    raise NotKokoro("its graph has no cumulative sum of durations")
