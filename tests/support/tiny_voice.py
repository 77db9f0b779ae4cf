"""A Piper voice made on the spot: each phoneme has a tone of its own, so that sound differs from silence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

RATE_HZ = 22_050
FRAMES_A_PHONEME = 3
HOP = 256


def build(folder: Path, name: str = "en_US-tones-low", speakers: tuple[str, ...] = ()) -> Path:
    """Write the voice into `folder`; returns the path of its .onnx file. speakers: names, () for one."""
    path = folder / f"{name}.onnx"
    onnx.save(_model(several=bool(speakers)), path)
    settings = {
        "audio": {"sample_rate": RATE_HZ},
        "espeak": {"voice": "en-us"},
        "num_symbols": 256,
        "num_speakers": max(1, len(speakers)),
        "speaker_id_map": {speaker: number for number, speaker in enumerate(speakers)},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
        "hop_length": HOP,
    }
    Path(f"{path}.json").write_text(json.dumps(settings))
    return path


def _model(several: bool) -> onnx.ModelProto:
    """Of each phoneme id: ceil(length_scale * 3) frames of a sine; ids under 4 are signs and silent. several:
    with speakers, of whom the second speaks half as fast.
    """
    constants = {
        "one": np.array(1, np.int64),
        "zero": np.array(0, np.int64),
        "frames": np.array(FRAMES_A_PHONEME, np.float32),
        "hop": np.array(HOP, np.float32),
        "radians": np.array(2 * np.pi * 20 / RATE_HZ, np.float32),
        "last_sign": np.array(3, np.int64),
        "column": np.array([-1, 1], np.int64),
        "flat": np.array([1, 1, -1], np.int64),
        "slowness": np.array([1, 2], np.float32),
        "first": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["scales", "one"], ["length_scale"]),
        helper.make_node("Gather", ["slowness", "sid" if several else "first"], ["factor"]),
        helper.make_node("Mul", ["length_scale", "frames"], ["usual"]),
        helper.make_node("Mul", ["usual", "factor"], ["wanted"]),
        helper.make_node("Cast", ["input"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["ids", "ids"], ["nothing"]),
        helper.make_node("Add", ["nothing", "wanted"], ["widths"]),
        helper.make_node("Ceil", ["widths"], ["w_ceil"]),
        helper.make_node("ReduceMax", ["w_ceil"], ["width"], keepdims=0),
        helper.make_node("Mul", ["width", "hop"], ["samples"]),
        helper.make_node("Cast", ["samples"], ["count"], to=TensorProto.INT64),
        helper.make_node("Range", ["zero", "count", "one"], ["ticks"]),
        helper.make_node("Cast", ["ticks"], ["time"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["ids", "column"], ["pitches"]),
        helper.make_node("Mul", ["pitches", "radians"], ["speeds"]),
        helper.make_node("Mul", ["speeds", "time"], ["angles"]),
        helper.make_node("Sin", ["angles"], ["waves"]),
        helper.make_node("Reshape", ["input", "column"], ["rows"]),
        helper.make_node("Greater", ["rows", "last_sign"], ["spoken"]),
        helper.make_node("Cast", ["spoken"], ["loudness"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["waves", "loudness"], ["tones"]),
        helper.make_node("Reshape", ["tones", "flat"], ["output"]),
    ]
    speaker = [helper.make_tensor_value_info("sid", TensorProto.INT64, [1])] if several else []
    graph = helper.make_graph(
        nodes,
        "tones",
        [
            helper.make_tensor_value_info("input", TensorProto.INT64, [1, "phonemes"]),
            helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
            *speaker,
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, "samples"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
