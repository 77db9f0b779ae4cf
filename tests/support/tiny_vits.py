"""A Piper voice with the parts of VITS, made on the spot: durations, a flow and a decoder of convolutions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RATE_HZ = 22_050
HOP = 256
FRAMES_A_PHONEME = 3
SIGNS = 10
"""Phoneme ids below this are silent."""
_PHONEMES = "_^$ !?,.;:'\"()-abcdefhijklmnoprstuvwxyzæçðøŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒθᵻˈˌː̃"


def build(
    folder: Path, name: str = "en_US-hum-low", language: str = "en-us", speakers: tuple[str, ...] = ()
) -> Path:
    """Write the voice into `folder`; returns the path of its .onnx file. speakers: names, () for one."""
    path = folder / f"{name}.onnx"
    onnx.save(model(several=bool(speakers)), path)
    settings = {
        "audio": {"sample_rate": RATE_HZ},
        "espeak": {"voice": language},
        "num_speakers": max(1, len(speakers)),
        "speaker_id_map": {speaker: number for number, speaker in enumerate(speakers)},
        "phoneme_id_map": {phoneme: [number] for number, phoneme in enumerate(_PHONEMES)},
    }
    Path(f"{path}.json").write_text(json.dumps(settings))
    return path


def model(several: bool = False) -> onnx.ModelProto:
    """Of each phoneme id, ceil(length_scale * 3) frames of a hum; signs are silent. Noise as in Piper's.

    several: there are two speakers, the second half as loud.
    """
    hum = np.sin(2 * np.pi * np.arange(HOP) * 4 / HOP).astype(np.float32) * 0.5
    constants = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "frames": np.array(FRAMES_A_PHONEME, np.float32),
        "last_sign": np.array(SIGNS - 1, np.int64),
        "row": np.array([1, 1, -1], np.int64),
        "column": np.array([-1, 1], np.int64),
        "unit": np.array([1], np.int64),
        "smooth": np.array([[[0.1, 0.2, 0.4, 0.2, 0.1]]], np.float32),
        "same": np.array([[[0.1, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1]]], np.float32),
        "hum": hum.reshape(1, 1, HOP),
        "volumes": np.array([1, 0.5], np.float32),
        "first": np.array([0], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["scales", "one"], ["length_scale"]),
        node("Mul", ["length_scale", "frames"], ["wanted"]),
        node("Cast", ["input"], ["ids"], to=TensorProto.FLOAT),
        node("Sub", ["ids", "ids"], ["nothing"]),
        node("Add", ["nothing", "wanted"], ["widths"]),
        node("Ceil", ["widths"], ["w_ceil"]),
        node("ReduceMax", ["w_ceil"], ["width"], keepdims=0),
        node("Cast", ["width"], ["count"], to=TensorProto.INT64),
        node("Reshape", ["count", "unit"], ["columns"]),
        node("Concat", ["unit", "columns"], ["shape"], axis=0),
        node("Greater", ["input", "last_sign"], ["spoken"]),
        node("Cast", ["spoken"], ["loudness"], to=TensorProto.FLOAT),
        node("Reshape", ["loudness", "column"], ["rows"]),
        node("Expand", ["rows", "shape"], ["spread"]),
        node("Reshape", ["spread", "row"], ["means"]),
        node("RandomNormalLike", ["means"], ["drawn"]),
        node("Gather", ["scales", "zero"], ["noise_scale"]),
        node("Mul", ["drawn", "noise_scale"], ["noise"]),
        node("Add", ["means", "noise"], ["latents"]),
        node("Sub", ["latents", "latents"], ["zeros"]),
        node("Exp", ["zeros"], ["mask"]),
        node("Conv", ["latents", "smooth"], ["flowed"], name="/flow/flows.0/Conv", pads=[2, 2]),
        node("Mul", ["flowed", "mask"], ["spectra"], name="/Mul_7"),
        node("Conv", ["spectra", "same"], ["prepared"], name="/dec/conv_pre/Conv", pads=[3, 3]),
        node("ConvTranspose", ["prepared", "hum"], ["sound"], name="/dec/ups.0/ConvTranspose", strides=[HOP]),
        node("Gather", ["volumes", "sid" if several else "first"], ["volume"], name="/dec/cond/Gather"),
        node("Mul", ["sound", "volume"], ["output"], name="/dec/Mul"),
    ]
    speaker = [helper.make_tensor_value_info("sid", TensorProto.INT64, [1])] if several else []
    graph = helper.make_graph(
        nodes,
        "hum",
        [
            helper.make_tensor_value_info("input", TensorProto.INT64, [1, "phonemes"]),
            helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
            *speaker,
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, "samples"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnx.shape_inference.infer_shapes(made)
