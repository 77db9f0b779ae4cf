"""A model with the inputs and outputs of Kokoro, made on the spot: a hum, as loud as the style says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FRAMES_A_PHONEME = 3
SIGNS = 16
"""Phoneme ids up to this are silent."""
LOUDNESS = 0.5


def build(
    folder: Path, voices: Sequence[str] = ("af_heart",), ids: str = "tokens", durations: bool = True
) -> Path:
    """Write the model and its voices into `folder`; returns the path of its .onnx file.

    voices: each half as loud as the one before. ids: name of the input of phoneme ids. durations: the graph
    has those of the phonemes.
    """
    path = folder / "tiny.onnx"
    onnx.save(model(ids, durations), path)
    (folder / "voices").mkdir(exist_ok=True)
    for number, voice in enumerate(voices):
        styles = np.full((510, 1, 256), LOUDNESS / 2**number, np.float32)
        styles.tofile(folder / "voices" / f"{voice}.bin")
    return path


def model(ids: str = "tokens", durations: bool = True) -> onnx.ModelProto:
    """Of each phoneme id, ceil(3 / speed) frames of 600 samples: a hum, or silence for signs."""
    constants = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "frames_wanted": np.array([FRAMES_A_PHONEME], np.float32),
        "last_sign": np.array(SIGNS, np.int64),
        "column": np.array([-1, 1], np.int64),
        "flat": np.array([-1], np.int64),
        "unit": np.array([1], np.int64),
        "hop": np.array([600], np.int64),
        "step": np.array(2 * np.pi / 100, np.float32),
    }
    node = helper.make_node
    nodes = [
        node("Div", ["frames_wanted", "speed"], ["exact"]),
        node("Ceil", ["exact"], ["each"]),
        node("Cast", ["each"], ["frames_each"], to=TensorProto.INT64),
        node("Reshape", [ids, "flat"], ["flat_ids"]),
        node("Sub", ["flat_ids", "flat_ids"], ["none"]),
        node("Add", ["none", "frames_each"], ["frames"]),
        node("CumSum" if durations else "Add", ["frames", "zero"], ["ends"]),
        node("Mul", ["frames_each", "hop"], ["width"]),
        node("Greater", ["flat_ids", "last_sign"], ["spoken"]),
        node("Cast", ["spoken"], ["loudness"], to=TensorProto.FLOAT),
        node("Reshape", ["loudness", "column"], ["rows"]),
        node("Concat", ["unit", "width"], ["shape"], axis=0),
        node("Expand", ["rows", "shape"], ["spread"]),
        node("Reshape", ["spread", "flat"], ["envelope"]),
        node("Size", ["envelope"], ["samples"]),
        node("Range", ["zero", "samples", "one"], ["numbers"]),
        node("Cast", ["numbers"], ["times"], to=TensorProto.FLOAT),
        node("Mul", ["times", "step"], ["angles"]),
        node("Sin", ["angles"], ["hum"]),
        node("ReduceMax", ["style"], ["volume"], keepdims=0),
        node("Mul", ["hum", "envelope"], ["sounding"]),
        node("Mul", ["sounding", "volume"], ["audio"]),
    ]
    graph = helper.make_graph(
        nodes,
        "hum",
        [
            helper.make_tensor_value_info(ids, TensorProto.INT64, [1, "phonemes"]),
            helper.make_tensor_value_info("style", TensorProto.FLOAT, [1, 256]),
            helper.make_tensor_value_info("speed", TensorProto.FLOAT, [1]),
        ],
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, ["samples"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
