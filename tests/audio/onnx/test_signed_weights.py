"""Files whose weights are signed codes with an offset, under older names, as Moonshine base has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from audio.onnx.runtime import OrtFile

PLACE = "model.decoder.layers.0.mlp.fc1"
CODES = np.array([[-128, 0], [5, 127]], np.int8)
SCALE, OFFSET = 0.25, -3 * 0.25


def written(folder: Path, frequencies: NDArray[np.float32] | None = None) -> OrtFile:
    """Write a product with such a matrix, and a rotation's, in onnxruntime's format."""
    constants: dict[str, NDArray[np.generic]] = {
        "up_quantized": CODES,
        "up_scale": np.array([SCALE], np.float32),
        "up_zero_point": np.array([OFFSET], np.float32),
        "frequencies": np.ones((2, 2), np.float32) if frequencies is None else frequencies,
    }
    nodes = [
        helper.make_node("Cast", ["up_quantized"], ["up_cast_tensor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["up_cast_tensor", "up_scale"], ["up_mul_tensor"]),
        helper.make_node("Add", ["up_mul_tensor", "up_zero_point"], ["up_add_tensor"]),
        helper.make_node(
            "MatMul", ["x", "up_add_tensor"], ["y"], name="/model/decoder/layers.0/mlp/up_proj/MatMul"
        ),
        helper.make_node("MatMul", ["y", "frequencies"], ["z"], name="/rotary_emb/MatMul"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "xz"]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "made", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(folder / "made.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return OrtFile(folder / "made.ort")


def test_a_signed_matrix_has_the_numbers_of_its_file_under_the_newer_name(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert file.places == [PLACE]
    assert np.array_equal(file.matrix(PLACE), CODES * np.float32(SCALE) + np.float32(OFFSET))


def test_its_codes_are_unsigned_with_a_zero_point(tmp_path: Path) -> None:
    codes, _, zero = written(tmp_path).codes_at(PLACE)
    assert codes.dtype == zero.dtype == np.uint8
    assert zero == 131
    assert codes.tolist() == [[0, 128], [133, 255]]


def test_a_constant_is_restored_whether_or_not_it_has_8_bits(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert np.array_equal(file.restored("up"), file.matrix(PLACE))
    with pytest.raises(KeyError):
        file.restored("down")


def test_the_first_node_that_the_file_has_gives_the_constants(tmp_path: Path) -> None:
    frequencies = np.array([[1, 2], [3, 4]], np.float32)
    file = written(tmp_path, frequencies)
    [found] = file.floats_of("/rotary_emb/Expand", "/rotary_emb/MatMul")
    assert np.array_equal(found, frequencies)
    with pytest.raises(KeyError):
        file.floats_of("/rotary_emb/Expand")
