"""onnxruntime sessions, and access to the weights of a file in its own format, .ort.

The format is a flatbuffer; onnxruntime ships the schema.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8}  # keys: TensorDataType; weights have no other types
_EIGHT_BIT, _RESTORED = "_quantized", "_add_tensor"
Floats = NDArray[np.float32]
_PRODUCT = re.compile(r"/(.+)/MatMul")
_OLD_NAME = re.compile(r"(?<=[./])(dense|up_proj|down_proj)(?=[./])")
_NEW_NAMES = {"dense": "o_proj", "up_proj": "fc1", "down_proj": "fc2"}
"""Names of matrices in older exports of Moonshine, and in newer ones."""


Codes = tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.uint8]]
"""An 8-bit matrix, its scale, and its zero point."""


class OrtFile:
    """A model in .ort format whose matrices have 8 bits, one scale and one zero point each. data: the mapped
    file.

    The file is mapped copy-on-write: processes share its memory, and changes stay in this process. Raises
    OSError, or ValueError if it is not such a file.
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
        self._convert_signed()
        self._matrix_at = {
            match[1].replace("/", "."): stem
            for node, inputs in self._inputs.items()
            if (match := _PRODUCT.match(node))
            for constant in inputs
            if (stem := constant.removesuffix(_EIGHT_BIT).removesuffix(_RESTORED)) != constant
            and stem + _EIGHT_BIT in self._constants
        }

    def _read(self, graph: Any) -> None:
        for each in _graphs(graph):
            for tensor in _constants(each):
                if tensor.DataType() in _TYPES:
                    self._constants.setdefault(_name(tensor.Name()), _array(tensor))
            for node in _nodes(each):
                inputs = [_name(node.Inputs(number)) for number in range(node.InputsLength())]
                self._inputs.setdefault(_name(node.Name()), inputs)
        self._shapes = _shapes(graph)

    def _convert_signed(self) -> None:
        """Convert weights of signed codes, a scale and an offset to unsigned codes with a zero point.

        The offset is a whole number of steps (github.com/moonshine-ai/onnx_shrink_ray, float quantization),
        so the numbers stay the same.
        """
        for name, codes in list(self._constants.items()):
            if codes.dtype == np.int8 and name.endswith(_EIGHT_BIT):
                stem = name.removesuffix(_EIGHT_BIT)
                scale, offset = (
                    self._constants[stem + part].reshape(()) for part in ("_scale", "_zero_point")
                )
                self._constants[name] = codes.view(np.uint8) ^ 128
                self._constants[stem + "_scale"] = scale
                self._constants[stem + "_zero_point"] = np.rint(128 - offset / scale).astype(np.uint8)

    @property
    def places(self) -> list[str]:
        """Names of the matrix products, such as "layers.0.mlp.fc1"."""
        return list(self._matrix_at)

    def matrix(self, place: str) -> Floats:
        """Return the dequantized matrix [in, out] at a place. Raises KeyError."""
        return self.eight_bit(self._matrix_at[place])

    def eight_bit(self, name: str) -> Floats:
        """Return a dequantized 8-bit constant, by its name without the suffix. Raises KeyError."""
        codes, scale, zero = self.codes(name)
        numbers: Floats = (codes.astype(np.float32) - float(zero.item())) * scale
        return numbers

    def codes(self, name: str) -> Codes:
        """Return an 8-bit constant as stored, by its name without the suffix. Raises KeyError."""
        codes, scale, zero = (self._constants[name + part] for part in (_EIGHT_BIT, "_scale", "_zero_point"))
        return codes, scale, zero

    def codes_at(self, place: str) -> Codes:
        """Return the matrix [in, out] at a place as stored. Raises KeyError."""
        return self.codes(self._matrix_at[place])

    def shape(self, name: str) -> list[int]:
        """Return the dimensions of an input or output, 0 for variable ones. Raises KeyError."""
        return self._shapes[name]

    def floats(self) -> dict[str, Floats]:
        """Return the 32-bit constants by name."""
        return {name: value for name, value in self._constants.items() if value.dtype == np.float32}

    def restored(self, name: str) -> Floats:
        """Return a constant in 32 bits, dequantized if the file has it in 8. Raises KeyError."""
        if name + _RESTORED in self._constants:
            numbers: Floats = self._constants[name + _RESTORED]
            return numbers
        return self.eight_bit(name)

    def floats_of(self, *nodes: str) -> list[Floats]:
        """Return the 32-bit constants of the first of these nodes in the file. Raises KeyError if none is."""
        node = next((one for one in nodes if one in self._inputs), nodes[0])
        floats = self.floats()
        return [floats[name] for name in self._inputs[node] if name in floats]

    def add(self, place: str, change: Floats) -> None:
        """Add `change` to the matrix [in, out] at a place.

        Rounds stochastically with a fixed seed (Gupta et al., "Deep Learning with Limited Numerical
        Precision", 2015): the matrix has 8-bit steps, and rounding to the nearest would lose changes below
        half a step. Raises KeyError, or ValueError if the shapes differ.
        """
        name = self._matrix_at[place]
        numbers = self._constants[name + _EIGHT_BIT]
        if change.shape != numbers.shape:
            raise ValueError(f"{place} has the shape {numbers.shape}, not {change.shape}")
        steps = change / float(self._constants[name + "_scale"].item())
        up_or_down = np.random.default_rng(0).random(steps.shape, np.float32)
        numbers[...] = np.clip(numbers + np.floor(steps + up_or_down), 0, 255)


def _session_type() -> Any:
    """Return the schema's root type, imported by its own path: `onnxruntime.tools` may import torch."""
    path = str(Path(onnxruntime.__file__).parent / "tools" / "ort_format_model")
    if path not in sys.path:
        sys.path.append(path)
    return import_module("ort_flatbuffers_py.fbs.InferenceSession").InferenceSession


def _name(raw: bytes) -> str:
    return _OLD_NAME.sub(lambda old: _NEW_NAMES[old[0]], raw.decode())


def _array(tensor: Any) -> NDArray[Any]:
    """Return a tensor's values as a view into the file."""
    shape = [tensor.Dims(axis) for axis in range(tensor.DimsLength())]
    numbers: NDArray[Any] = tensor.RawDataAsNumpy().view(_TYPES[tensor.DataType()]).reshape(shape)
    return numbers


def _graphs(graph: Any) -> Iterator[Any]:
    """Yield the graph and the graphs nested in it (branches)."""
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
    """Return the dimensions of the graph's inputs and outputs, 0 for variable ones."""
    shapes = {}
    tensor_type = import_module("ort_flatbuffers_py.fbs.TensorTypeAndShape").TensorTypeAndShape
    for number in range(graph.NodeArgsLength()):
        value = graph.NodeArgs(number)
        value_type = value.Type()
        if value_type is None or value_type.Value() is None:
            continue
        tensor = tensor_type()
        tensor.Init(value_type.Value().Bytes, value_type.Value().Pos)
        if (shape := tensor.Shape()) is not None:
            dimensions = (shape.Dim(axis).Value() for axis in range(shape.DimLength()))
            shapes[value.Name().decode()] = [0 if one is None else one.DimValue() for one in dimensions]
    return shapes


CPU_PROVIDERS = ("CPUExecutionProvider",)
CUDA_PROVIDERS = ("CUDAExecutionProvider", "CPUExecutionProvider")
"""Providers of onnxruntime by preference: operations that CUDA does not have run on the processor."""


def onnx_session(
    model: Path | bytes,
    threads: int = 1,
    providers: Sequence[str] = CPU_PROVIDERS,
    varying_shapes: bool = False,
) -> Any:
    """Return an onnxruntime.InferenceSession of a model, given by path or as ONNX bytes.

    Uses one thread by default: calls share the processor, so no model may take all of it.
    varying_shapes: inputs seldom have the same shape twice, so no plan of memory is kept for each shape.
    Piper's Joe grew by 60 MB in 40 phrases with plans, and by 25 MB without, in the same time. Raises one of
    onnxruntime's dozen exception types, which have no common base but Exception.
    """
    if isinstance(model, bytes):  # a session would keep a copy for its lifetime
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model)
            return onnx_session(path, threads, providers, varying_shapes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_mem_pattern = not varying_shapes
    # Threads that wait by spinning take the processor from other calls: with two, Piper's Joe took 37 s of it
    # for phrases that take 16 s with one, and was slower; without spinning 18 s, and faster.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, list(providers))
