"""onnxruntime: how models are run, and the numbers in one of its own format, .ort, read and changed.

The format is a flatbuffer, for which onnxruntime brings the schema.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from audio.recognizers.low_rank import Floats

_TYPES = {1: np.float32, 2: np.uint8}  # of TensorDataType; no other holds weights
_EIGHT_BIT = "_quantized"
_PRODUCT = re.compile(r"/(.+)/MatMul")


Codes = tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.uint8]]
"""A matrix of 8 bits, the scale of its numbers, and which of them is zero."""


class OrtFile:
    """A model, `data`, whose matrices have 8 bits, one scale and one zero point each.

    The file is mapped, not read: processes share what of it is in memory. What is added to it is added in
    this one's memory alone. Raises OSError, ValueError where it is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.data = np.memmap(path, np.uint8, mode="c")
        if bytes(self.data[4:8]) != b"ORTM":
            raise ValueError("it is not a file of onnxruntime's format")
        self._constants: dict[str, NDArray[Any]] = {}
        self._inputs: dict[str, list[str]] = {}
        self._shapes: dict[str, list[int]] = {}
        try:
            self._read(_session_type().GetRootAs(self.data, 0).Model().Graph())
        except (struct.error, AttributeError, IndexError, TypeError) as error:
            raise ValueError(f"it is broken: {error}") from error
        self._matrix_at = {
            match[1].replace("/", "."): constant[: -len(_EIGHT_BIT)]
            for node, inputs in self._inputs.items()
            if (match := _PRODUCT.match(node))
            for constant in inputs
            if constant.endswith(_EIGHT_BIT) and constant in self._constants
        }

    def _read(self, graph: Any) -> None:
        for each in _graphs(graph):
            for tensor in _constants(each):
                if tensor.DataType() in _TYPES:
                    self._constants.setdefault(tensor.Name().decode(), _array(tensor))
            for node in _nodes(each):
                inputs = [node.Inputs(number).decode() for number in range(node.InputsLength())]
                self._inputs.setdefault(node.Name().decode(), inputs)
        self._shapes = _shapes(graph)

    @property
    def places(self) -> list[str]:
        """Where matrices are multiplied with, such as "layers.0.mlp.fc1"."""
        return list(self._matrix_at)

    def matrix(self, place: str) -> Floats:
        """The matrix [in, out] at a place. Raises KeyError where there is none."""
        return self.eight_bit(self._matrix_at[place])

    def eight_bit(self, name: str) -> Floats:
        """A constant of 8 bits, by its name without the ending. Raises KeyError."""
        codes, scale, zero = self.codes(name)
        numbers: Floats = (codes.astype(np.float32) - float(zero.item())) * scale
        return numbers

    def codes(self, name: str) -> Codes:
        """The same as it stands there. Raises KeyError."""
        codes, scale, zero = (self._constants[name + part] for part in (_EIGHT_BIT, "_scale", "_zero_point"))
        return codes, scale, zero

    def codes_at(self, place: str) -> Codes:
        """The matrix [in, out] at a place as it stands there. Raises KeyError where there is none."""
        return self.codes(self._matrix_at[place])

    def shape(self, name: str) -> list[int]:
        """The dimensions of an input or an output, 0 for those that are not fixed. Raises KeyError."""
        return self._shapes[name]

    def floats(self) -> dict[str, Floats]:
        """The constants of 32 bits, by name."""
        return {name: value for name, value in self._constants.items() if value.dtype == np.float32}

    def floats_of(self, node: str) -> list[Floats]:
        """The same, of one node. Raises KeyError where there is no such node."""
        floats = self.floats()
        return [floats[name] for name in self._inputs[node] if name in floats]

    def add(self, place: str, change: Floats) -> None:
        """Add to the matrix [in, out] at a place. Raises KeyError, ValueError where the shapes differ.

        What lies between two steps of 8 bits becomes one of them by chance, the nearer one oftener, every
        time the same (stochastic rounding; Gupta et al., "Deep Learning with Limited Numerical Precision",
        2015): the matrix is on such steps, and of a change by less than half of one nothing would be left.
        """
        name = self._matrix_at[place]
        numbers = self._constants[name + _EIGHT_BIT]
        if change.shape != numbers.shape:
            raise ValueError(f"{place} has the shape {numbers.shape}, not {change.shape}")
        steps = change / float(self._constants[name + "_scale"].item())
        up_or_down = np.random.default_rng(0).random(steps.shape, np.float32)
        numbers[...] = np.clip(numbers + np.floor(steps + up_or_down), 0, 255)


def _session_type() -> Any:
    """The schema's root, by its own path: `onnxruntime.tools` would import torch where there is one."""
    path = str(Path(onnxruntime.__file__).parent / "tools" / "ort_format_model")
    if path not in sys.path:
        sys.path.append(path)
    return import_module("ort_flatbuffers_py.fbs.InferenceSession").InferenceSession


def _array(tensor: Any) -> NDArray[Any]:
    """The numbers of a tensor where they lie in the file."""
    shape = [tensor.Dims(axis) for axis in range(tensor.DimsLength())]
    numbers: NDArray[Any] = tensor.RawDataAsNumpy().view(_TYPES[tensor.DataType()]).reshape(shape)
    return numbers


def _graphs(graph: Any) -> Iterator[Any]:
    """The graph and those inside it (branches)."""
    yield graph
    for node in _nodes(graph):
        inside = (node.Attributes(each).G() for each in range(node.AttributesLength()))
        for branch in inside:
            if branch is not None:
                yield from _graphs(branch)


def _nodes(graph: Any) -> Iterator[Any]:
    return (graph.Nodes(number) for number in range(graph.NodesLength()))


def _constants(graph: Any) -> Iterator[Any]:
    return (graph.Initializers(number) for number in range(graph.InitializersLength()))


def _shapes(graph: Any) -> dict[str, list[int]]:
    """The dimensions of the graph's inputs and outputs, 0 for those that are not fixed."""
    shapes = {}
    tensor_type = import_module("ort_flatbuffers_py.fbs.TensorTypeAndShape").TensorTypeAndShape
    for number in range(graph.NodeArgsLength()):
        value = graph.NodeArgs(number)
        told = value.Type()
        if told is None or told.Value() is None:
            continue
        tensor = tensor_type()
        tensor.Init(told.Value().Bytes, told.Value().Pos)
        if (shape := tensor.Shape()) is not None:
            dimensions = (shape.Dim(axis).Value() for axis in range(shape.DimLength()))
            shapes[value.Name().decode()] = [0 if one is None else one.DimValue() for one in dimensions]
    return shapes


def onnx_session(model: Path | bytes, threads: int = 1) -> Any:
    """An onnxruntime.InferenceSession of a model, by its path or as the bytes of an ONNX file.

    On one thread or as many as said: calls share the processor, no model may take all of it.

    Raises one of onnxruntime's dozen exception types, which have no common base but Exception.
    """
    if isinstance(model, bytes):  # a session keeps these as long as it lives, beside what it makes of them
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model)
            return onnx_session(path, threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
