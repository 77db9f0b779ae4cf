"""Silero VAD's network for many windows at once: the weights of its file, made into another ONNX graph.

As it comes, its convolutions are run window by window, on matrices a few columns wide, and a window of a
batch costs nearly as much as one alone. Here a batch is one tall matrix, and a convolution one product with
it (`tests/bench/vad_cost.py`). The results are the file's, up to rounding, and each row's does not depend on
the others.

The network: a short-time Fourier transform of four frames, four convolutions, of which two have stride 2, an
LSTM cell (Hochreiter and Schmidhuber, 1997), a linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, NDArray[np.float32]]
Shapes = dict[str, tuple[str | int, ...]]

WINDOWS, STATES = "windows", "states"
PROBABILITIES, NEW_STATES = "probabilities", "new_states"
INPUT_SAMPLES = 64 + 512
"""The end of the window before, and the window."""
STATE = 128
"""Numbers in each half of the model's memory of a stream."""
_FRAME, _HOP, _FRAMES = 256, 128, 4
_BINS = _FRAME // 2 + 1
_FIRST, _SECOND = 128, 64  # channels of what these convolutions give
_OPSET, _IR = 18, 8


def silero_graph(path: Path) -> bytes:
    """The model in `path` (ONNX, for 16 kHz) as another: `windows` [b, 64 + 512] and `states` [2, b, 128] to
    `probabilities` [b, 1] and `new_states`, all float32.

    Raises OSError, KeyError or ValueError where the file is not what it should be.
    """
    graph = _Graph(_read_weights(path))
    heard = graph.convolutions(graph.magnitudes())
    hidden = graph.cell(heard)
    graph.judgement(hidden)
    floats = TensorProto.FLOAT
    inputs: Shapes = {WINDOWS: ("b", INPUT_SAMPLES), STATES: (2, "b", STATE)}
    outputs: Shapes = {PROBABILITIES: ("b", 1), NEW_STATES: (2, "b", STATE)}
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "silero",
            [helper.make_tensor_value_info(name, floats, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, floats, shape) for name, shape in outputs.items()],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    return bytes(model.SerializeToString())


def _read_weights(path: Path) -> Weights:
    """The tensors of an ONNX file by their names. Raises OSError, or ValueError where it is none."""
    data = path.read_bytes()
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own, which has no base that says so
        raise ValueError(f"it is no ONNX file: {error}") from error
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


class _Graph:
    """Nodes are added one by one; a node's name is its output's."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add an operation; the name of its result."""
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def magnitudes(self) -> str:
        """[b, 4, 129]: of the frames' spectra; the window's end is mirrored to fill the last frame."""
        padded = self.node("Pad", WINDOWS, self._integers(0, 0, 0, _HOP // 2), mode="reflect")
        hops = self._shaped(padded, -1, _FRAMES + 1, _HOP)
        frames = self.node(
            "Concat", self._part(hops, 1, 0, _FRAMES), self._part(hops, 1, 1, _FRAMES + 1), axis=2
        )
        basis = self._weights["model.stft.forward_basis_buffer"][:, 0].T
        waves = self.node("MatMul", self._shaped(frames, -1, _FRAME), self._floats(basis))
        squares = self.node("Mul", waves, waves)
        power = self.node("Add", self._part(squares, 1, 0, _BINS), self._part(squares, 1, _BINS, 2 * _BINS))
        return self._shaped(self.node("Sqrt", power), -1, _FRAMES, _BINS)

    def convolutions(self, magnitudes: str) -> str:
        """[b, 128]: what is in the four frames. Each looks at a frame and its neighbours."""
        padded = self.node("Pad", magnitudes, self._integers(0, 1, 0, 0, 1, 0))
        around = self.node("Concat", *(self._part(padded, 1, at, at + _FRAMES) for at in range(3)), axis=2)
        frames = self._convolution(0, self._shaped(around, -1, 3 * _BINS), (0, 1, 2))
        # Of stride 2: the places 0 and 2 of the four, then the first of the two. With a window's frames in
        # one row, what lies around a place is a slice of it.
        row = self.node("Pad", self._shaped(frames, -1, _FRAMES * _FIRST), self._integers(0, _FIRST, 0, 0))
        around = self.node(
            "Concat", self._part(row, 1, 0, 3 * _FIRST), self._part(row, 1, 2 * _FIRST, 5 * _FIRST), axis=1
        )
        halves = self._convolution(1, self._shaped(around, -1, 3 * _FIRST), (0, 1, 2))
        whole = self._convolution(2, self._shaped(halves, -1, 2 * _SECOND), (1, 2))
        return self._convolution(3, whole, (1,))

    def cell(self, heard: str) -> str:
        """The LSTM cell: [b, 128], which also is the first half of the new states."""
        hidden, memory = (self._shaped(self._part(STATES, 0, at, at + 1), -1, STATE) for at in (0, 1))
        from_both = [self._weights[f"model.decoder.rnn.weight_{kind}"].T for kind in ("ih", "hh")]
        bias = self._weights["model.decoder.rnn.bias_ih"] + self._weights["model.decoder.rnn.bias_hh"]
        gates = self._linear(self.node("Concat", heard, hidden, axis=1), np.concatenate(from_both), bias)
        take, keep, new, show = (self._part(gates, 1, at * STATE, (at + 1) * STATE) for at in range(4))
        taken = self.node("Mul", self.node("Sigmoid", take), self.node("Tanh", new))
        memory = self.node("Add", self.node("Mul", self.node("Sigmoid", keep), memory), taken)
        hidden = self.node("Mul", self.node("Sigmoid", show), self.node("Tanh", memory))
        both = (self._shaped(half, 1, -1, STATE) for half in (hidden, memory))
        self.node("Concat", *both, axis=0, output=NEW_STATES)
        return hidden

    def judgement(self, hidden: str) -> None:
        """The probability of a voice."""
        name = "model.decoder.decoder.2"
        weights, bias = self._weights[f"{name}.weight"][0], self._weights[f"{name}.bias"]
        self.node("Sigmoid", self._linear(self.node("Relu", hidden), weights, bias), output=PROBABILITIES)

    def _convolution(self, number: int, around: str, taps: Sequence[int]) -> str:
        """[..., out] of rows of what lies around a place. taps: those of the three that are on something."""
        name = f"model.encoder.{number}.reparam_conv"
        weights = self._weights[f"{name}.weight"]
        product = np.concatenate([weights[:, :, tap].T for tap in taps])
        return self.node("Relu", self._linear(around, product, self._weights[f"{name}.bias"]))

    def _linear(self, rows: str, weights: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        return self.node("Gemm", rows, self._floats(weights), self._floats(bias))

    def _shaped(self, value: str, *shape: int) -> str:
        return self.node("Reshape", value, self._integers(*shape))

    def _part(self, value: str, axis: int, begin: int, end: int) -> str:
        return self.node("Slice", value, self._integers(begin), self._integers(end), self._integers(axis))

    def _integers(self, *values: int) -> str:
        return self._constant(np.array(values, np.int64))

    def _floats(self, values: NDArray[np.float32]) -> str:
        return self._constant(np.ascontiguousarray(values))

    def _constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name
