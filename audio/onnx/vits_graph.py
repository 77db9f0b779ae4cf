"""A Piper voice's graph (VITS) cut into three, so that its sound comes in windows instead of all at the end.

The parts: the text encoder with its durations, the flow, and the HiFi-GAN decoder. The latter two are
convolutions, whose output depends on few frames around it: a window with those frames on both sides gives the
same sound as the whole. (Kim et al., "Conditional Variational Autoencoder with Adversarial Learning for
End-to-End Text-to-Speech", 2021; Kong et al., "HiFi-GAN", 2020)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.helper import make_node
from onnx.numpy_helper import from_array
from onnx.utils import Extractor

from audio.onnx.runtime import onnx_session

Floats = NDArray[np.float32]

FLOW_CONTEXT = 32
"""Frames on each side that the flow needs: four coupling layers, each of four convolutions of width 5."""
DECODER_CONTEXT = 10
"""Frames on each side that the decoder needs; with 8 its sound differs by 0.0003, with 10 by rounding."""
WINDOWS = (10, 32, 96)
"""Frames decoded at once: few for the first sound, then more, as each window costs its context too. The last
is repeated; it takes 70 to 150 ms of one core, within which nothing else is spoken.
"""
FLOW_WINDOW = 128
"""Frames that pass the flow at once after the first window, at least: its context is 64 frames each time."""


class NotVits(ValueError):
    """The graph is not a Piper voice's; the message says what it lacks."""


NOISE_VALUES = 786_433
"""Values of noise, drawn once and repeated; a prime, so that no channel gets a frame's noise again soon."""
_REST = 12
"""Frames; fewer at the end go with the window before them."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A phrase before the flow. latents: [1, channels, frames]. frames: of each phoneme id, in order.
    speaker: further input of all parts, if the voice has several speakers.
    """

    latents: Floats
    frames: NDArray[np.int64]
    speaker: Mapping[str, NDArray[np.int64]]


class VitsGraph:
    """The three parts of a voice, loaded. noise, noise_of_durations: as the voice's settings have them."""

    def __init__(self, path: Path, threads: int, noise: float, noise_of_durations: float) -> None:
        graph = onnx.load(path)
        cuts = _cuts(graph.graph)
        _fix_noise(graph.graph)
        extractor = Extractor(graph)
        parts = (
            (["input", "input_lengths", "scales", *cuts.speaker], [cuts.latents, cuts.durations]),
            ([cuts.latents, cuts.mask, *cuts.speaker], [cuts.decoder]),
            ([cuts.decoder, *cuts.speaker], [graph.graph.output[0].name]),
        )
        models = [extractor.extract_model(*names).SerializeToString() for names in parts]
        del graph, extractor  # as large as the voice
        self._encoder, self._flow, self._decoder = (
            onnx_session(model, threads, varying_shapes=True) for model in models
        )
        self._cuts = cuts
        self._noise = noise
        self._noise_of_durations = noise_of_durations

    def encode(self, ids: Sequence[int], length_scale: float, speaker: int = 0) -> Encoded:
        """Encode phoneme ids. length_scale: over 1 is slower."""
        fed: dict[str, Any] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array([self._noise, length_scale, self._noise_of_durations], np.float32),
        }
        speakers = {name: np.array([speaker], np.int64) for name in self._cuts.speaker}
        latents, durations = self._encoder.run(None, fed | speakers)
        return Encoded(latents, durations.reshape(-1).astype(np.int64), speakers)

    def sound(self, encoded: Encoded) -> Iterator[Floats]:
        """Yield the sound of a phrase, [samples] within -1 to 1, window by window."""
        count = encoded.latents.shape[2]
        spectra = _Growing(encoded.latents, partial(self._flowed, speaker=encoded.speaker))
        begin, number = 0, 0
        while begin < count:
            end = min(begin + WINDOWS[min(number, len(WINDOWS) - 1)], count)
            if count - end < _REST:  # not worth a window
                end = count
            first, last = max(0, begin - DECODER_CONTEXT), min(count, end + DECODER_CONTEXT)
            frames = spectra.until(last)[:, :, first:last]
            fed = {self._cuts.decoder: frames, **encoded.speaker}
            sound: Floats = self._decoder.run(None, fed)[0].reshape(-1)
            hop = len(sound) // (last - first)
            yield sound[(begin - first) * hop : (end - first) * hop]
            begin, number = end, number + 1

    def _flowed(self, latents: Floats, speaker: Mapping[str, NDArray[np.int64]]) -> Floats:
        mask = np.ones((1, 1, latents.shape[2]), np.float32)
        spectra: Floats = self._flow.run(
            None, {self._cuts.latents: latents, self._cuts.mask: mask, **speaker}
        )[0]
        return spectra


class _Growing:
    """The flow's output, computed as far as it is needed."""

    def __init__(self, latents: Floats, flow: Any) -> None:
        self._latents = latents
        self._flow = flow
        self._done = np.zeros((*latents.shape[:2], 0), np.float32)

    def until(self, end: int) -> Floats:
        """Return the output up to a frame, or further."""
        begin, count = self._done.shape[2], self._latents.shape[2]
        if end > begin:
            if begin > 0:  # the first sound waits for no more than it needs
                end = min(count, max(end, begin + FLOW_WINDOW))
            first, last = max(0, begin - FLOW_CONTEXT), min(count, end + FLOW_CONTEXT)
            flowed = self._flow(self._latents[:, :, first:last])
            self._done = np.concatenate([self._done, flowed[:, :, begin - first : end - first]], axis=2)
        return self._done


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Names of tensors. latents: into the flow. mask: of its frames. decoder: into it. durations: in frames.
    speaker: the input with the speaker's number, or ().
    """

    latents: str
    mask: str
    decoder: str
    durations: str
    speaker: tuple[str, ...]


def _cuts(graph: onnx.GraphProto) -> _Cuts:
    """Find the cuts by the modules' names, which exports of VITS keep. Raises NotVits."""
    nodes = list(graph.node)
    first_of_flow = next((node for node in nodes if node.name.startswith("/flow/")), None)
    first_of_decoder = next((node for node in nodes if node.name.startswith("/dec/")), None)
    ceilings = [node for node in nodes if node.op_type == "Ceil"]
    if first_of_flow is None or first_of_decoder is None or len(ceilings) != 1:
        raise NotVits("its graph has no flow, decoder and durations as Piper's export has them")
    decoder = first_of_decoder.input[0]
    masked = next((node for node in nodes if decoder in node.output and node.op_type == "Mul"), None)
    if masked is None:
        raise NotVits("the input of its decoder is not masked as in Piper's export")
    return _Cuts(
        latents=first_of_flow.input[0],
        mask=masked.input[1],
        decoder=decoder,
        durations=ceilings[0].output[0],
        speaker=tuple(value.name for value in graph.input if value.name == "sid"),
    )


def _fix_noise(graph: onnx.GraphProto) -> None:
    """Replace each random draw by the same NOISE_VALUES values of noise, as many as it draws.

    A text then always sounds the same: it can be cached, and a test that speaks passes or fails, not both.
    """
    values = np.random.default_rng(0).standard_normal(NOISE_VALUES, np.float32)
    constants = {"noise/values": values, "noise/count": np.int64(NOISE_VALUES)}
    constants |= {"noise/zero": np.int64(0), "noise/one": np.int64(1)}
    graph.initializer.extend(from_array(np.asarray(value), name) for name, value in constants.items())
    nodes = []
    for node in graph.node:
        drawn = node.op_type == "RandomNormalLike"
        nodes += _noise_of_shape(node.input[0], node.output[0]) if drawn else [node]
    del graph.node[:]
    graph.node.extend(nodes)


def _noise_of_shape(like: str, output: str) -> list[onnx.NodeProto]:
    """Return the nodes that shape values of noise like a tensor."""
    parts = ("size", "steps", "numbers", "values", "shape")
    size, steps, numbers, values, shape = (f"{output}/{part}" for part in parts)
    return [
        make_node("Size", [like], [size]),
        make_node("Range", ["noise/zero", size, "noise/one"], [steps]),
        make_node("Mod", [steps, "noise/count"], [numbers]),
        make_node("Gather", ["noise/values", numbers], [values]),
        make_node("Shape", [like], [shape]),
        make_node("Reshape", [values, shape], [output]),
    ]
